"""What some install instead: flexllm's batches, answers in memory: `… URL CALLS IN_FLIGHT`; a peer, no dependency of ours."""

import asyncio
import sys

from flexllm import LLMClient


async def main() -> None:
    """Send the calls with that many in flight."""
    url, calls, in_flight = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    client = LLMClient(
        provider="openai", base_url=f"{url}/api", api_key="sk-benchmark", model="m", concurrency_limit=in_flight
    )
    prompts = [[{"role": "user", "content": f"What is {number} + {number % 7}?"}] for number in range(calls)]
    answers = await client.chat_batch(prompts, max_tokens=64, show_progress=False)
    assert len([answer for answer in answers if answer.content]) == calls


if __name__ == "__main__":
    asyncio.run(main())
