"""What many write instead: workers over the official SDK, answers in memory: `… URL CALLS IN_FLIGHT`."""

import asyncio
import sys

import openai


async def main() -> None:
    """Send the calls with that many workers."""
    url, calls, in_flight = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    numbers = iter(range(calls))
    answers: list[str | None] = []
    async with openai.AsyncOpenAI(api_key="sk-benchmark", base_url=f"{url}/api", max_retries=0) as client:

        async def worker() -> None:
            for number in numbers:
                done = await client.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": f"What is {number} + {number % 7}?"}],
                    max_tokens=64,
                )
                answers.append(done.choices[0].message.content)

        await asyncio.gather(*(worker() for _ in range(in_flight)))
    assert len(answers) == calls


if __name__ == "__main__":
    asyncio.run(main())
