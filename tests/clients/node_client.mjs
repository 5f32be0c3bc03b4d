// openai for Node: whole, streamed, with a tool. Prints what tests/clients/told.py does.
import OpenAI from "openai";

const { PLATFORM_URL: baseURL, PLATFORM_KEY: KEY, REFUSED } = process.env;
const TRIP = "I go to Lisbon for 4 days.";
const QUESTION = "What is the weather in Oslo?";
const client = (apiKey = KEY) => new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const messages = (content) => [{ role: "user", content }];

async function whole() {
  const done = await client().chat.completions.create({ model: "prose", messages: messages(TRIP) });
  return done.choices[0].message.content;
}

async function streamed() {
  let said = "";
  const chunks = await client().chat.completions.create({ model: "prose", messages: messages(TRIP), stream: true });
  for await (const chunk of chunks) said += chunk.choices[0]?.delta?.content ?? "";
  return said;
}

async function agent() {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const done = client().chat.completions.runTools({
    model: "tools",
    messages: messages(QUESTION),
    tools: [{
      type: "function",
      function: {
        name: "get_weather",
        description: "Get the weather of a city.",
        parameters,
        parse: JSON.parse,
        function: ({ city }) => `12 degrees and rain in ${city}`,
      },
    }],
  });
  return done.finalContent();
}

async function refused(model, key) {
  try {
    return ["nothing was raised", JSON.stringify(await client(key).chat.completions.create({ model, messages: messages(TRIP) }))];
  } catch (error) {
    return [error.constructor.name, error.message];
  }
}

const refusals = {};
for (const [name, { model, key }] of Object.entries(JSON.parse(REFUSED))) refusals[name] = await refused(model, key);
console.log(JSON.stringify({ cases: { whole: await whole(), streamed: await streamed(), agent: await agent() }, refusals }));
