"use strict";
// One request whole: what was sent, what came back, and what the scorers say. Whatever a model said is text, never markup.
workbench.exchange = (() => {
  const { make, count, block } = workbench;

  function folded(title, content) {
    const details = make("details", { class: "numbers" }, make("summary", {}, title));
    details.addEventListener("toggle", async () => {
      if (!details.open || details.children.length > 1) return;
      const filled = make("div");
      details.append(filled);
      try {
        filled.append(...(await content()).filter(Boolean));
      } catch (error) {
        filled.append(make("p", { class: "failed" }, error.message));
      }
    });
    return details;
  }

  function pretty(text) {
    try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
  }

  // As the rest of the page says it: 430 ms, 1.80 s, 2 m 05 s, 3 h 12 m.
  function time(ms) {
    if (ms == null) return null;
    const s = ms / 1000, two = (number) => String(Math.floor(number)).padStart(2, "0");
    if (s < 1) return `${Number(ms.toPrecision(3))} ms`;
    if (s < 60) return `${s.toPrecision(3)} s`;
    return s < 3600 ? `${Math.floor(s / 60)} m ${two(s % 60)} s` : `${Math.floor(s / 3600)} h ${two((s % 3600) / 60)} m`;
  }

  const scoreText = (value) => (value == null ? "unscored" : Number(value.toPrecision(3)).toString());

  // The messages of a request's body, each under who says it.
  function messages(body) {
    let sent;
    try { sent = JSON.parse(body).messages; } catch { return [block("request", body)]; }
    return (sent || []).map((message) =>
      block(message.role, typeof message.content === "string" ? message.content : JSON.stringify(message.content ?? message, null, 2)));
  }

  function facts(line, found) {
    const [prompt, completion, thinking] = found.usage;
    return [
      line.served == null ? "served model not named" : line.served === line.model ? null : `served as ${line.served}: ${found.identity ?? "not known"}`,
      line.reused ? "reused from an earlier run" : null, time(line.latency_ms),
      prompt == null && completion == null ? "usage not reported" : `${count(prompt)} prompt + ${count(completion)} completion tokens${thinking ? `, of which ${count(thinking)} reasoning` : ""}`,
      found.finish_reason ? `finish reason ${found.finish_reason}` : null, found.http_status == null ? null : `HTTP ${found.http_status}`,
      line.mark === "failed" ? found.evidence : null,
    ].filter(Boolean);
  }

  // line: of the index; found: its texts; raw: asks for request and response.
  return (line, found, raw) => {
    const scores = found.scores.map((score) =>
      make("p", {}, `${score.scorer}: ${scoreText(score.value)}${score.reason ? `, ${score.reason}` : ""}${score.extracted == null ? "" : `, read as “${score.extracted}”`}`));
    const attempts = found.attempts.length
      ? [make("h3", {}, `${found.attempts.length} attempts`), make("ol", {}, ...found.attempts.map(([outcome, status, ms, text]) =>
          make("li", {}, [outcome, status == null ? null : `HTTP ${status}`, time(ms), text].filter(Boolean).join(" · "))))]
      : [];
    const copied = async (event) => {
      await navigator.clipboard.writeText(found.answer || "");
      event.target.textContent = "Copied";
    };
    return [
      make("p", { class: "facts-line" }, ...facts(line, found).map((fact) => make("bdi", {}, fact))),
      block("prompt", found.input),
      found.choices.length ? block("choices", found.choices.join("\n")) : null,
      block("target", found.target),
      ...found.tool_calls.map((call) => block(`tool call: ${call.name}`, pretty(call.arguments))),
      block("answer", found.answer),
      found.answer && navigator.clipboard ? make("button", { type: "button", onclick: copied }, "Copy answer") : null,
      ...scores,
      block("error", found.error_text),
      ...attempts,
      found.reasoning ? folded("Reasoning", async () => [block("reasoning", found.reasoning)]) : null,
      folded("Messages as sent", async () => messages((await raw()).request || "")),
      folded("Raw request and response", async () => {
        const sent = await raw();
        return [block("request", sent.request && pretty(sent.request)), block("response, verbatim", sent.response)];
      }),
    ].filter(Boolean);
  };
})();
