"""Train a tiny model to say the next word, with attention that may or may not look ahead.

    python -m attention_lab.training.next_word         # some seconds: the figures of chapter 06, for three seeds

The sentences are of the kind "the boat left the muddy bank .": the subject decides which kind of bank it is. Their
entropy is known, so it is known how well anybody can do who has not seen the next word.

Letters: B texts in a batch, T words of a text, V words in the vocabulary, d width of a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

SUBJECTS = {"water": ("boat", "ship", "duck", "frog"), "money": ("clerk", "client", "banker", "guard")}
VERBS = ("left", "found", "saw", "liked", "reached", "missed")
ADJECTIVES = {"water": ("muddy", "grassy", "steep"), "money": ("closed", "rich", "busy")}
#: Every word there is, in the order of its id.
VOCABULARY: tuple[str, ...] = (
    "the", "bank", ".", *SUBJECTS["water"], *SUBJECTS["money"], *VERBS, *ADJECTIVES["water"], *ADJECTIVES["money"],
)  # fmt: skip
#: Words of a sentence, sentences of a text, words of a text.
SENTENCE, SENTENCES = 7, 4
LENGTH = SENTENCE * SENTENCES
#: Mean loss in nats of a guess that knows nothing.
UNIFORM = math.log(len(VOCABULARY))
#: The least mean loss in nats that is possible for whoever sees only the words before: three free choices a sentence.
FLOOR = SENTENCES * (math.log(8) + math.log(len(VERBS)) + math.log(3)) / (LENGTH - 1)

WIDTH, BATCH, STEPS, RATE = 64, 32, 300, 5e-3

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]


def sentences(rng: np.random.Generator, batch: int, count: int = SENTENCES) -> Tensor:
    """Texts of `count` sentences each: ids (B, 7 · count)."""
    sense = rng.integers(0, 2, (batch, count))
    ids = np.zeros((batch, count, SENTENCE), dtype=np.int64)
    ids[..., 1] = 3 + 4 * sense + rng.integers(0, 4, sense.shape)
    ids[..., 2] = 11 + rng.integers(0, len(VERBS), sense.shape)
    ids[..., 4] = 11 + len(VERBS) + 3 * sense + rng.integers(0, 3, sense.shape)
    ids[..., 5], ids[..., 6] = 1, 2
    return torch.from_numpy(ids.reshape(batch, -1))


def text(ids: Tensor | Sequence[int]) -> str:
    """Ids (T,) as words with blanks between them."""
    return " ".join(VOCABULARY[int(i)] for i in ids)


def right_sentences(ids: Tensor) -> Tensor:
    """Which sentences of texts (B, 7 · n) the language has, each word in its place: bool (B, n)."""
    words = ids.reshape(-1, SENTENCE)
    first = torch.tensor([0, -1, -1, 0, -1, 1, 2])
    fixed = ((words == first) | (first < 0)).all(dim=1)
    subject, verb, adjective = words[:, 1] - 3, words[:, 2] - 11, words[:, 4] - 11 - len(VERBS)
    chosen = (subject >= 0) & (subject < 8) & (verb >= 0) & (verb < len(VERBS)) & (adjective >= 0)
    return (fixed & chosen & (subject // 4 == adjective // 3)).reshape(len(ids), -1)


def _waves(length: int, width: int) -> Tensor:
    """Rows for places to start from (length, width): sines and cosines, so that one product finds "one further"."""
    speeds = 1.5 * 0.05 ** torch.linspace(0, 1, width // 2)
    angles = torch.arange(length)[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class NextWord(nn.Module):
    """A row for each word and each place, added; one head whose blend is added; an MLP, added; scores.

    Args:
        attention: q, k, v (B, T, d) → (B, T, d).
    """

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention
        self.words = nn.Embedding(len(VOCABULARY), WIDTH)
        self.places = nn.Parameter(_waves(LENGTH, WIDTH))
        self.W_q, self.W_k, self.W_v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
        self.scores = nn.Linear(WIDTH, len(VOCABULARY))

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T) → logits (B, T, V): row t says what may come after word t."""
        x = self.words(ids) + self.places[: ids.shape[1]]
        x = x + self.attention(self.W_q(x), self.W_k(x), self.W_v(x))
        logits: Tensor = self.scores(x + self.mlp(x))
        return logits


def may_look_ahead(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention without a mask."""
    return F.scaled_dot_product_attention(q, k, v)


def may_not(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same with torch's causal mask."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def shifted_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """The mean loss of saying the next word, from a whole text at once."""
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def train(model: NextWord, loss: Loss = shifted_loss, steps: int = STEPS, seed: int = 0) -> Iterator[float]:
    """Adam with a falling rate, one step each time the iterator is asked; gives that step's loss in nats."""
    rng = np.random.default_rng(seed)
    adam = torch.optim.Adam(model.parameters(), RATE)
    fall = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: min(1.0, 2 * (1 - step / steps)))
    for _ in range(steps):
        ids = sentences(rng, BATCH)
        now = loss(model(ids), ids)
        adam.zero_grad()
        now.backward()
        adam.step()
        fall.step()
        yield now.item()


def trained(
    attention: Attention, loss: Loss = shifted_loss, steps: int = STEPS, seed: int = 0
) -> tuple[NextWord, list[float]]:
    """A model trained from a seed, and its loss at every step."""
    torch.manual_seed(seed)
    model = NextWord(attention)
    losses = list(train(model, loss, steps, seed))
    return model.eval(), losses


@torch.no_grad()
def from_the_past(model: NextWord, ids: Tensor) -> Tensor:
    """Logits (B, T, V) of T passes: for row t the model is given the words 0 … t and nothing else."""
    return torch.stack([model(ids[:, : t + 1])[:, -1] for t in range(ids.shape[1])], dim=1)


@torch.no_grad()
def continued(model: NextWord, ids: Tensor, length: int = LENGTH, seed: int = 0) -> Tensor:
    """Texts (B, t) continued to `length` words, each drawn by its probability from the words before."""
    generator = torch.Generator().manual_seed(seed)
    while ids.shape[1] < length:
        chances = model(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(chances, 1, generator=generator)], dim=1)
    return ids


def main() -> None:
    """Print what chapter 06 says of three seeds."""
    torch.set_num_threads(1)
    fresh = sentences(np.random.default_rng(99), 100)
    print(f"uniform {UNIFORM:.2f}, floor {FLOOR:.2f}")
    for seed in range(3):
        for attention in (may_not, may_look_ahead):
            model, losses = trained(attention, seed=seed)
            with torch.no_grad():
                at_once = shifted_loss(model(fresh), fresh)
            past = shifted_loss(from_the_past(model, fresh), fresh)
            right = right_sentences(continued(model, fresh[:, :1])).float()
            print(
                f"seed {seed}, {attention.__name__:15}: last loss {losses[-1]:.3f}, fresh text {at_once:.3f}, "
                f"from the past {past:.2f}, right sentences {right.mean():.2f}, texts {right.prod(1).mean():.2f}"
            )


if __name__ == "__main__":
    main()
