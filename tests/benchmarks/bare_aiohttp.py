"""What a user would write instead: an aiohttp loop that keeps the answers in memory: `… URL CALLS IN_FLIGHT [KEY [stream]]`."""

import asyncio
import json
import sys

import aiohttp


async def streamed_text(response: aiohttp.ClientResponse) -> str:
    """The text of a streamed answer."""
    said = ""
    async for line in response.content:
        if line.startswith(b"data: {"):
            chunk = json.loads(line[6:])
            said += "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
    assert said
    return said


async def main() -> None:
    """Send the calls with that many workers."""
    url, calls, in_flight = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    headers = {"Authorization": f"Bearer {sys.argv[4]}"} if len(sys.argv) > 4 else {}
    streamed = sys.argv[5:] == ["stream"]
    numbers = iter(range(calls))
    answers: list[str] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight), headers=headers) as session:

        async def worker() -> None:
            for number in numbers:
                prompt = f"What is {number} + {number % 7}?"
                body: dict[str, object] = {
                    "model": "m",
                    "messages": [{"role": "user", "content": prompt}],
                    "max_tokens": 64,
                }
                if streamed:
                    body["stream"] = True
                async with session.post(f"{url}/api/chat/completions", json=body) as response:
                    if streamed:
                        answers.append(await streamed_text(response))
                    else:
                        answers.append((await response.json())["choices"][0]["message"]["content"])

        await asyncio.gather(*(worker() for _ in range(in_flight)))
    assert len(answers) == calls


if __name__ == "__main__":
    asyncio.run(main())
