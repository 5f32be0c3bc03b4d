"""What a user would write instead: an aiohttp loop that keeps the answers in memory: `… URL CALLS IN_FLIGHT [KEY]`."""

import asyncio
import sys

import aiohttp


async def main() -> None:
    """Send the calls with that many workers."""
    url, calls, in_flight = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    headers = {"Authorization": f"Bearer {sys.argv[4]}"} if len(sys.argv) > 4 else {}
    numbers = iter(range(calls))
    answers: list[str] = []
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=in_flight), headers=headers) as session:

        async def worker() -> None:
            for number in numbers:
                prompt = f"What is {number} + {number % 7}?"
                body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "max_tokens": 64}
                async with session.post(f"{url}/api/chat/completions", json=body) as response:
                    answers.append((await response.json())["choices"][0]["message"]["content"])

        await asyncio.gather(*(worker() for _ in range(in_flight)))
    assert len(answers) == calls


if __name__ == "__main__":
    asyncio.run(main())
