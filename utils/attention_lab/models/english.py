"""A miniature English in which it is known which earlier word decides what an ambiguous word means.

A story is some 110 words. In it stand four decisions: a cue ("boat"), later an ambiguous word ("bank"), and right
after it, or one word later, an answer that shows the sense ("flooded", "was muddy"). The distance from the cue to the
ambiguous word is drawn first, every number from 1 to 64 alike, and the rest is built around it, so that short and long
distances are equally common. The other decisions' cues stand in between or around: nearness does not tell which cue is
meant, only its meaning does. One more ambiguous word in each story has no cue and gets an answer of its own ("the bat
remained", "was unknown"). People keep their surname through a story and each story has a refrain that comes back:
to predict those, a reader must look at what followed last time.

A recital is a row of random words said again and again, for a reader that has nothing but repetition to go by.

Words are separated by one blank, and a full stop is a word. All words are lower case, names excepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

#: The longest distance between a cue and its ambiguous word, in words; the shortest is 1.
FURTHEST = 64
#: The most words in a story.
LENGTH = 112
#: Decisions in one story, each about another ambiguous word.
DECISIONS = 4


@dataclass(frozen=True)
class Size:
    """How large stories are.

    Attributes:
        length: words in a story.
        decisions: about so many different ambiguous words; one more is left open.
        furthest: the longest distance between a cue and its ambiguous word, in words; the shortest is 1.
    """

    length: int = LENGTH
    decisions: int = DECISIONS
    furthest: int = FURTHEST


#: Stories as they are measured, and short ones to learn from first.
FULL, SHORT = Size(), Size(length=44, decisions=2, furthest=24)


@dataclass(frozen=True)
class Sense:
    """One meaning of an ambiguous word.

    Attributes:
        name: of the meaning.
        cues: the words that decide for it; each belongs to this sense alone.
        verbs: what such a thing does ("the bank flooded"); each belongs to this sense alone.
        adjectives: what such a thing is ("the bank was muddy"); each belongs to this sense alone.
    """

    name: str
    cues: tuple[str, ...]
    verbs: tuple[str, ...]
    adjectives: tuple[str, ...]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _sense(name: str, cues: str, verbs: str, adjectives: str) -> Sense:
    return Sense(name, _words(cues), _words(verbs), _words(adjectives))


#: The ambiguous words and their two senses each.
AMBIGUOUS: dict[str, tuple[Sense, Sense]] = {
    "bank": (_sense("water", "boat", "flooded", "muddy"), _sense("money", "clerk", "lent", "closed")),
    "bat": (_sense("animal", "cave", "flew", "hungry"), _sense("game", "player", "swung", "wooden")),
    "light": (_sense("lamp", "candle", "flickered", "dim"), _sense("signal", "driver", "changed", "red")),
    "spring": (_sense("source", "stream", "bubbled", "clear"), _sense("coil", "clock", "snapped", "rusty")),
    "crane": (_sense("bird", "marsh", "waded", "shy"), _sense("machine", "builder", "lifted", "steel")),
    "seal": (_sense("animal", "iceberg", "dived", "wet"), _sense("stamp", "letter", "melted", "royal")),
    "match": (_sense("fire", "stove", "burned", "charred"), _sense("contest", "referee", "ended", "fair")),
    "trunk": (_sense("tree", "forest", "grew", "mossy"), _sense("luggage", "traveller", "opened", "packed")),
}

#: What is said of an ambiguous word that nothing decides. Without it, not having seen the cue of the one sense would be
#: evidence for the other, and a reader would need to look for only half of the cues (measured: it did).
UNDECIDED = _sense("undecided", "", "remained", "unknown")

WOMEN = _words("Anna Clara Edith Greta Ida Mary Nora Ruth")
MEN = _words("Ben David Felix Hugo Jacob Otto Peter Simon")
SURNAMES = _words("Berg Cole Dunn Frost Hale Lund Wolfe Nash Price Reed Stone West")
#: Names that come up seldom, so that a tokenizer has them in pieces.
RARE_NAMES = _words("Bartholomew Cassiopeia Evangeline Maximilian Persephone Thaddeus")

_PEOPLE = _words("farmer baker teacher doctor painter child sailor tailor")
_ANIMALS = _words("dog cat horse goat hen fox")
_THINGS = _words("table chair book cup basket ladder wheel mirror carpet bottle")
_FOOD = _words("bread soup apple cake cheese honey")
_PLACES = _words("garden kitchen market street cellar attic village school")
_PERSON_DOES = _words("slept laughed waited sang worked cried")
_ANIMAL_DOES = _words("slept ran waited jumped hid")
_PERSON_TO_THING = _words("sold mended painted carried bought")
_PERSON_TO_FOOD = _words("ate cooked bought shared")
_ANIMAL_TO_ANIMAL = _words("chased followed heard")
_OF_PEOPLE = _words("old young happy tired kind")
_OF_ANIMALS = _words("small brown quick lazy")
_OF_THINGS = _words("new broken plain tall blue")
_OF_FOOD = _words("fresh sweet warm")
_OF_PLACES = _words("quiet dark large empty")
_HOW = _words("slowly again today quietly gladly there")
_PREPOSITIONS = _words("in near behind outside")
_SEEN = _words("saw remembered mentioned noticed described")
_LEAVES = ("left", "found")
_NUMBERS = _words("two three four five six seven")
_COLOURS = _words("green yellow purple silver black white")
_MANY = _words("stones birds bells stars drums leaves")
_MANY_DO = _words("fell turned shook shone moved")
_LEADS = _words("then later soon suddenly")
_TIMES = _words("morning evening winter summer")
#: Words that come up seldom in stories: tokenizers split them.
RARE = {
    "person": _words("watchmaker astronomer beekeeper ferryman housekeeper"),
    "animal": _words("hedgehog dragonfly woodpecker salamander"),
    "thing": _words("telescope umbrella wheelbarrow chandelier accordion"),
    "place": _words("observatory lighthouse greenhouse monastery"),
}
_RARELY = 0.01


@dataclass(frozen=True)
class Decision:
    """One ambiguous word of a story and what decides it; positions count words from 0.

    Attributes:
        word: the ambiguous word.
        sense: which of its senses is meant.
        cue: the word that decides.
        cue_at, word_at, answer_at: where the cue, the ambiguous word and the answer stand.
    """

    word: str
    sense: Sense
    cue: str
    cue_at: int
    word_at: int
    answer_at: int

    @property
    def distance(self) -> int:
        """How many words before the ambiguous one the cue stands."""
        return self.word_at - self.cue_at

    @property
    def other(self) -> Sense:
        """The sense that is not meant."""
        first, second = AMBIGUOUS[self.word]
        return second if self.sense == first else first


@dataclass(frozen=True)
class Open:
    """An ambiguous word that nothing decides; what is said of it is in `UNDECIDED`.

    Attributes:
        word: the ambiguous word.
        word_at, answer_at: where it and the answer stand.
    """

    word: str
    word_at: int
    answer_at: int


@dataclass(frozen=True)
class Story:
    """Words with their ground truth.

    Attributes:
        words: of the story, full stops included.
        decisions: in the order of their ambiguous words.
        open: the ambiguous words that nothing decides.
    """

    words: tuple[str, ...]
    decisions: tuple[Decision, ...]
    open: tuple[Open, ...]

    @property
    def text(self) -> str:
        """The words with blanks between them."""
        return " ".join(self.words)


@dataclass(frozen=True)
class Recital:
    """`period` random words, all different, said again and again.

    Attributes:
        words: of the recital; from `period` on each equals the one `period` before it.
        period: after how many words it starts again.
    """

    words: tuple[str, ...]
    period: int

    @property
    def text(self) -> str:
        """The words with blanks between them."""
        return " ".join(self.words)


def stories(count: int, seed: int, distances: Sequence[int] | None = None, size: Size = FULL) -> Iterator[Story]:
    """`count` stories.

    Args:
        count: how many.
        seed: the same seed gives the same stories.
        distances: one decision of each story has one of these distances, in turn; any in reach when None.
        size: how large the stories are.
    """
    rng = Random(seed)
    for i in range(count):
        yield story(rng, None if distances is None else distances[i % len(distances)], size)


def recitals(count: int, seed: int, length: int = LENGTH, periods: tuple[int, int] = (8, 50)) -> Iterator[Recital]:
    """`count` recitals of `length` words, each period from `periods[0]` to `periods[1]` alike."""
    rng = Random(seed)
    for _ in range(count):
        yield recital(rng, length, rng.randint(*periods))


def story(rng: Random, distance: int | None = None, size: Size = FULL) -> Story:
    """One story.

    Args:
        rng: where all chance comes from.
        distance: between cue and ambiguous word of one of its decisions, in words, from 1 on; drawn when None.
        size: how large it is.

    Raises:
        ValueError: for a distance out of reach.
    """
    if distance is not None and not 1 <= distance <= size.furthest:
        raise ValueError(f"a distance is from 1 to {size.furthest} words, not {distance}")
    cast = _Cast(rng)
    # Drawn once, before any luck is tried: what is hard to place must not come up less often.
    wanted = [rng.randint(1, size.furthest) for _ in range(size.decisions)]
    wanted[0] = distance or wanted[0]
    while True:
        *words, undecided = rng.sample(sorted(AMBIGUOUS), size.decisions + 1)
        plans = [_plan(rng, cast, word, d) for word, d in zip(words, wanted, strict=True)]
        plans.append(_Plan(undecided, UNDECIDED, "", ((0, _asking(rng, undecided, UNDECIDED)),)))
        placed = _place(rng, plans, size.length)
        if placed:
            return _write(rng, cast, placed, size.length)


def recital(rng: Random, length: int, period: int) -> Recital:
    """One recital of `length` words with that period, of words that stories use."""
    turn = rng.sample(RECITED, period)
    return Recital(tuple(turn[i % period] for i in range(length)), period)


# How a story is built: each decision is one block of words (cue and ambiguous word in the same sentence) or two (a
# sentence each, a fixed number of words apart); blocks are thrown on the line until none overlap; the gaps are filled.


@dataclass(frozen=True)
class _Block:
    words: tuple[str, ...]
    decision: int = -1
    cue: int | None = None
    word: int | None = None
    answer: int | None = None


@dataclass(frozen=True)
class _Plan:
    word: str
    sense: Sense
    cue: str
    blocks: tuple[tuple[int, _Block], ...]  # offset of each block from the first one's start

    @property
    def span(self) -> int:
        offset, last = self.blocks[-1]
        return offset + len(last.words)


class _Cast:
    """The people of one story and its refrain."""

    def __init__(self, rng: Random) -> None:
        first = [rng.choice(WOMEN), rng.choice(MEN)]
        if rng.random() < 2 * _RARELY:
            first[rng.randrange(2)] = rng.choice(RARE_NAMES)
        self.people = [(name, surname) for name, surname in zip(first, rng.sample(SURNAMES, 2), strict=True)]
        self.refrain = (
            rng.choice(_NUMBERS), rng.choice(_COLOURS), rng.choice(_MANY), rng.choice(_MANY_DO), rng.choice(_HOW), ".",
        )  # fmt: skip

    def name(self, rng: Random, room: int) -> tuple[str, ...]:
        """A person's full name, or the first name where there is room for one word only."""
        person = rng.choice(self.people)
        return person if room >= 2 and rng.random() < 0.7 else person[:1]


def _plan(rng: Random, cast: _Cast, word: str, distance: int) -> _Plan:
    sense = rng.choice(AMBIGUOUS[word])
    cue = rng.choice(sense.cues)
    one = _one_sentence(rng, word, sense, cue, distance)
    if one:
        return _Plan(word, sense, cue, ((0, one),))
    asks = _asking(rng, word, sense)
    tells = _telling(rng, cast, cue, distance - 2)  # "the" and the word itself count too
    assert asks.word is not None
    assert tells.cue is not None
    return _Plan(word, sense, cue, ((0, tells), (tells.cue + distance - asks.word, asks)))


def _one_sentence(rng: Random, word: str, sense: Sense, cue: str, distance: int) -> _Block | None:
    verb, adjective = rng.choice(sense.verbs), rng.choice(sense.adjectives)
    direct = rng.random() < 0.5
    end = (verb, ".") if direct else ("was", adjective, ".")
    if distance == 1:
        return _Block(("the", cue, word, *end), cue=1, word=2, answer=3 if direct else 4)
    if distance == 2:
        return _Block(("by", "the", cue, "the", word, *end), cue=2, word=4, answer=5 if direct else 6)
    if distance == 3 and rng.random() < 0.7:
        words = ("the", cue, rng.choice(_LEAVES), "the", word, adjective, ".")
        return _Block(words, cue=1, word=4, answer=5)
    return None


def _asking(rng: Random, word: str, sense: Sense) -> _Block:
    if rng.random() < 0.5:
        return _Block(("the", word, rng.choice(sense.verbs), "."), word=1, answer=2)
    return _Block(("the", word, "was", rng.choice(sense.adjectives), "."), word=1, answer=3)


def _telling(rng: Random, cast: _Cast, cue: str, room: int) -> _Block:
    """A sentence with the cue in it and at most `room` words after the cue, the full stop included."""
    tails = [(), (rng.choice(_HOW),), ("in", "the", rng.choice(_PLACES)), ("one", rng.choice(_TIMES))]
    if room >= 4 and rng.random() < 0.25:
        return _Block(("the", cue, rng.choice(_LEAVES), "the", rng.choice(_PLACES), "."), cue=1)
    tail = rng.choice([tail for tail in tails if len(tail) + 1 <= room])
    article = rng.choice(("the", "an" if cue[0] in "aeiou" else "a"))
    start = (*cast.name(rng, 2), rng.choice(_SEEN), article)
    return _Block((*start, cue, *tail, "."), cue=len(start))


def _place(
    rng: Random, plans: list[_Plan], length: int, tries: int = 60
) -> list[tuple[int, int, _Block, _Plan]] | None:
    """(start, number of the plan, block, plan) in order of start, no two overlapping; None where no luck was had."""
    for _ in range(tries):
        found = []
        for i, plan in enumerate(plans):
            start = rng.randint(0, length - plan.span)
            found += [(start + offset, i, block, plan) for offset, block in plan.blocks]
        found.sort(key=lambda item: item[0])
        if all(a[0] + len(a[2].words) <= b[0] for a, b in pairwise(found)):
            return found
    return None


def _write(rng: Random, cast: _Cast, placed: list[tuple[int, int, _Block, _Plan]], length: int) -> Story:
    words: list[str] = []
    marks: dict[int, dict[str, int]] = {}
    for start, i, block, _ in placed:
        words += _filling(rng, cast, start - len(words))
        for name in ("cue", "word", "answer"):
            where = getattr(block, name)
            if where is not None:
                marks.setdefault(i, {})[name] = len(words) + where
        words += block.words
    words += _filling(rng, cast, length - len(words))
    plans = {i: plan for _, i, _, plan in placed}
    decisions, undecided = [], []
    for i, plan in plans.items():
        mark = marks[i]
        if plan.sense is UNDECIDED:
            undecided.append(Open(plan.word, mark["word"], mark["answer"]))
        else:
            decisions.append(Decision(plan.word, plan.sense, plan.cue, mark["cue"], mark["word"], mark["answer"]))
    return Story(tuple(words), tuple(sorted(decisions, key=lambda decision: decision.word_at)), tuple(undecided))


def _filling(rng: Random, cast: _Cast, room: int) -> list[str]:
    """Exactly `room` words that decide nothing: sentences, or one or two words that lead to the next sentence."""
    words: list[str] = []
    while room >= 3:
        size = room if room <= 7 else min(rng.randint(4, 10), room)
        if 0 < room - size < 3:
            size -= 3 - (room - size) if size >= 6 else 0
        refrain = size >= len(cast.refrain) and rng.random() < 0.35
        sentence = list(cast.refrain) if refrain else _sentence(rng, cast, size)
        words += sentence
        room -= len(sentence)
    if room == 2:
        words += ["and", rng.choice(_LEADS)]
    elif room == 1:
        words.append(rng.choice(_LEADS))
    return words


def _sentence(rng: Random, cast: _Cast, size: int) -> list[str]:
    """A sentence of exactly `size` words (3 to 10), the full stop included."""
    kind = rng.random()
    if size >= 5 and kind < 0.35:
        return _transitive(rng, cast, size)
    if size >= 4 and kind < 0.6:
        animal = rng.random() < 0.5
        noun = _noun(rng, "animal" if animal else "person")
        core = ["the", noun, rng.choice(_ANIMAL_DOES if animal else _PERSON_DOES)]
        if size >= 5 and size != 7 and rng.random() < 0.5:
            core.insert(1, rng.choice(_OF_ANIMALS if animal else _OF_PEOPLE))
    else:
        core = [*cast.name(rng, size - 2), rng.choice(_PERSON_DOES)]
    return _padded(rng, core, size)


def _transitive(rng: Random, cast: _Cast, size: int) -> list[str]:
    what = rng.random()
    if what < 0.3:
        core = ["the", _noun(rng, "animal"), rng.choice(_ANIMAL_TO_ANIMAL), "the", _noun(rng, "animal")]
        adjectives = _OF_ANIMALS
    else:
        food = what < 0.6
        who = [*cast.name(rng, size - 4)] if rng.random() < 0.6 or size < 6 else ["the", _noun(rng, "person")]
        verb = rng.choice(_PERSON_TO_FOOD if food else _PERSON_TO_THING)
        core = [*who, verb, "the", rng.choice(_FOOD) if food else _noun(rng, "thing")]
        adjectives = _OF_FOOD if food else _OF_THINGS
    if len(core) + 1 > size:
        core = [*cast.name(rng, 1)[:1], "sold", "the", _noun(rng, "thing")]
        adjectives = _OF_THINGS
    if len(core) + 1 < size and rng.random() < 0.5:
        core.insert(-1, rng.choice(adjectives))
    return _padded(rng, core, size)


def _padded(rng: Random, core: list[str], size: int) -> list[str]:
    """`core` with a place, a manner or a time after it until it has `size` words with its full stop."""
    room = size - len(core) - 1
    if room >= 3:
        place = [rng.choice(_PREPOSITIONS), "the", _noun(rng, "place")]
        if room >= 4 and room != 5 and rng.random() < 0.5:
            place.insert(2, rng.choice(_OF_PLACES))
        core = core + place
        room -= len(place)
    if room >= 2:
        core = core + ["one", rng.choice(_TIMES)]
        room -= 2
    lead = [rng.choice(_LEADS)] if room >= 2 else []
    room -= len(lead)
    manner = [rng.choice(_HOW)] if room else []
    return [*lead, *core, *manner, "."]


_NOUNS = {"person": _PEOPLE, "animal": _ANIMALS, "thing": _THINGS, "place": _PLACES}


def _noun(rng: Random, kind: str) -> str:
    return rng.choice(RARE[kind] if rng.random() < _RARELY else _NOUNS[kind])


#: Words of which recitals are made: everyday words of the stories.
RECITED: tuple[str, ...] = (
    *AMBIGUOUS,
    *(cue for senses in AMBIGUOUS.values() for sense in senses for cue in sense.cues),
    *_PEOPLE, *_ANIMALS, *_THINGS, *_FOOD, *_PLACES, *_COLOURS, *_MANY, *_NUMBERS, *WOMEN, *MEN, *SURNAMES,
)  # fmt: skip
