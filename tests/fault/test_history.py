"""The judge of the races judged: it must find what was lost, stale or torn, and nothing else."""

import random

import pytest

from history import FOREVER, History, Write
from line_source import Torn, value, value_of

SIZE = 320


def history(tmp_path, **journals):
    for writer, lines in journals.items():
        text = "".join(line + "\n" for line in lines)
        (tmp_path / f"{writer[1:]}.journal").write_text(text.removesuffix("…\n"))
    return History({7: (0, 0)}).load(tmp_path)


def test_the_last_acknowledged_write_is_what_a_chunk_may_hold(tmp_path):
    of = history(tmp_path, w1=["begin 7 1 10 truncate", "done 7 1 20",
                               "begin 7 2 30 truncate", "done 7 2 40"])
    assert of.admissible(7) == {(1, 2)} and of.acknowledged == 2
    assert not of.lost({7: (1, 2)})
    assert of.lost({7: (1, 1)}) and of.lost({7: (0, 0)}) and of.lost({7: None})


def test_writes_that_overlap_may_end_in_either_order(tmp_path):
    of = history(tmp_path, w1=["begin 7 1 10 truncate", "done 7 1 30"],
                 w2=["begin 7 1 20 rename", "done 7 1 40"])
    assert of.admissible(7) == {(1, 1), (2, 1)}


def test_a_write_that_was_not_acknowledged_may_stand_or_not(tmp_path):
    of = history(tmp_path, w1=["begin 7 1 10 truncate", "done 7 1 20", "begin 7 2 30 truncate",
                               "fail 7 2 40 107"])
    assert of.admissible(7) == {(1, 1), (1, 2)} and of.errors() == {107: 1}
    nothing_done = history(tmp_path, w1=["begin 7 1 10 truncate", "begin 7…"])
    assert nothing_done.admissible(7) == {(0, 0), (1, 1)}


def test_a_removal_is_a_write_of_nothing(tmp_path):
    of = history(tmp_path, w1=["begin 7 1 10 unlink", "done 7 1 20"])
    assert not of.lost({7: None}) and of.lost({7: (0, 0)})


def test_a_read_may_show_old_values_only_until_the_new_one_is_acknowledged(tmp_path):
    writes = ["begin 7 1 10 truncate", "done 7 1 20", "begin 7 2 30 truncate", "done 7 2 40"]

    def finds(seen):
        return history(tmp_path, w1=writes, w9=[seen]).stale_reads()

    assert not finds("seen 7 0 0 1 5") and not finds("seen 7 1 1 25 28")
    assert not finds("seen 7 1 1 35 50") and not finds("seen 7 1 2 35 50")
    assert finds("seen 7 1 1 45 50"), "out of date"
    assert finds("seen 7 1 2 15 25"), "from the future"
    assert finds("seen 7 0 0 25 28") and finds("seen 7 - - 45 50")


def by_the_rule(writes, begin, end):
    """What History.admissible promises, in its own words."""
    def out_of_date(write):
        return any(other.acknowledged and other.end <= begin and other.begin > write.end
                   for other in writes)

    values = {write.value for write in writes if write.begin < end and not out_of_date(write)}
    known = any(write.acknowledged and write.end <= begin for write in writes)
    return values if known else values | {(0, 0)}


def test_any_mixture_of_writes_is_judged_by_the_rule():
    rng = random.Random(11)
    for _ in range(2000):
        of = History({7: (0, 0)})
        for counter in range(rng.randrange(8)):
            begin, end = sorted((rng.randrange(30), rng.randrange(30)))
            ended = rng.choice(["done", "done", "failed", "never"])
            of.writes[7].append(Write(7, (1, counter), begin, "", FOREVER if ended == "never" else
                                      end, ended == "done"))
        begin, end = sorted((rng.randrange(31), rng.randrange(31)))
        assert of.admissible(7, begin, end) == by_the_rule(of.writes[7], begin, end)
        assert of.admissible(7) == by_the_rule(of.writes[7], FOREVER, FOREVER)


def test_what_a_reader_calls_torn_is_kept(tmp_path):
    assert history(tmp_path, w9=["torn 7 two values in one"]).torn == ["torn 7 two values in one"]


def test_only_a_whole_value_of_the_right_chunk_is_a_value():
    whole, other = value(7, 1, 2, SIZE), value(7, 1, 3, SIZE)
    assert value_of(7, whole, SIZE) == (1, 2) and value_of(7, bytes(SIZE), SIZE) is None
    for torn in (whole[:160] + other[160:], whole[:-32], whole[:-32] + bytes(32), b"",
                 value(8, 1, 2, SIZE), b"\1" + whole[1:]):
        with pytest.raises(Torn):
            value_of(7, torn, SIZE)
