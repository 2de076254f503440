"""A short talk to measure speed on."""

from __future__ import annotations

import random

TEXT = """
Good morning, everyone, and thank you for coming. Today I want to talk about the small things that make a city a good place
to live. When I was a child, my grandmother lived near the harbour, and every summer we took the train to visit her. The
streets were narrow, the houses were old, and in the evening people sat in front of their doors and talked. Nobody had
planned this. It was possible because there were few cars, because there was shade, and because there was always somebody
who brought another chair. Years later I came back and the harbour had changed: the chairs were gone, and a wide road ran
where the children had played. We often think that a city is made of buildings, but it is made of the time that people
spend between them. So we asked a simple question. What happens if we give ten percent of the road back? In the first
week, the shops were angry. In the second week, a school brought tables, and a bakery opened its window to the street. After
three months we counted again. Twice as many people walked, the noise had fallen by half, and the shops sold more than
before. You do not need a large plan for this, and you do not need much money. You need a few chairs, some trees, and the
courage to try something that can be taken away again if it does not work. That is the second thing I learned: a trial
is easier to accept than a promise. People who would never vote for a new square will happily sit in one for an afternoon.
And once they have sat there with a friend, it is very hard to tell them that the road was more important. Let me show you
now how we measured all of this, and what we would do differently if we could begin once more.
"""


def stretches(count: int, shortest: int = 4, longest: int = 40) -> list[str]:
    """Return `count` stretches of the talk, of `shortest` to `longest` words, always the same ones."""
    words, choose = TEXT.split(), random.Random(0)
    found = []
    for _ in range(count):
        length = choose.randint(shortest, longest)
        start = choose.randrange(len(words) - length)
        found.append(" ".join(words[start : start + length]))
    return found
