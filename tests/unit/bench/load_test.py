"""Tests of the load suite's parsers and verdicts: python3 -m unittest tests/unit/bench/load_test.py"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from bench.load import goals, measure, report  # noqa: E402

PRODUCER = """\
5001 records sent, 1000.2 records/sec (0.98 MB/sec), 12.3 ms avg latency, 400.0 ms max latency.
10000 records sent, 52631.578947 records/sec (51.40 MB/sec), 180.25 ms avg latency, \
379.00 ms max latency, 184 ms 50th, 331 ms 95th, 351 ms 99th, 375 ms 99.9th.
"""
CONSUMER = """\
start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, \
rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec
2026-11-30 10:00:00:000, 2026-11-30 10:00:01:000, 976.5625, 976.5625, 1000000, 1000000.0, 200, 800, \
1220.7, 1250000.0
"""


class Parsers(unittest.TestCase):
    def test_only_the_final_line_of_a_producer_counts(self):
        self.assertEqual(measure.producer_lines(PRODUCER), [(10000, 51.40, 180.25, 184)])

    def test_no_summary_is_an_error(self):
        with self.assertRaises(AssertionError):
            measure.producer_lines(PRODUCER.splitlines()[0])

    def test_consumer_columns(self):
        columns = measure.consumer_columns(CONSUMER)
        self.assertEqual(columns["MB.sec"], "976.5625")
        self.assertEqual(columns["fetch.MB.sec"], "1220.7")
        with self.assertRaises(AssertionError):
            measure.consumer_columns(CONSUMER.splitlines()[0])

    def test_strace_table(self):
        table = "syscall  calls\n-------- ------\npwritev     10\nsendto   2\n-------- ------\ntotal 12\n"
        self.assertEqual(measure.strace_counts(table), {"pwritev": 10, "sendto": 2})


def results(ours, kafka, raw=None):
    samples = {"produce-128k": {"pelton": ours, "kafka": kafka, "raw": raw or []}}
    return report.summarise(samples)


def cpu(*values):
    return [{"cpu_s_per_gb": value} for value in values]


class Verdicts(unittest.TestCase):
    def test_minimum_for_cpu_median_for_the_rest(self):
        summary = results(cpu(3, 1, 2), cpu(9, 8, 10))
        self.assertEqual(goals.value(summary, "produce-128k", "pelton", "cpu_s_per_gb"), 1)
        summary = report.summarise({"start-empty": {"pelton": [
            {"start_ms": 30}, {"start_ms": 10}, {"start_ms": 20}]}})
        self.assertEqual(goals.value(summary, "start-empty", "pelton", "start_ms"), 20)

    def test_ratio_at_its_limit_and_beyond(self):
        def reached(ours):
            verdicts = goals.judge(results(cpu(ours), cpu(8.0), cpu(1.0)))
            return {verdict.goal.split(" of ")[1]: verdict.reached for verdict in verdicts}
        self.assertEqual(reached(1.0), {"kafka's": True, "raw's": True})
        self.assertEqual(reached(1.2), {"kafka's": False, "raw's": True})
        self.assertEqual(reached(1.6), {"kafka's": False, "raw's": False})

    def test_what_was_not_measured_gets_no_verdict(self):
        self.assertEqual(goals.judge(results(cpu(1), [])), [])
        self.assertEqual(goals.judge({}), [])

    def test_absolute_limit(self):
        over, under = ([verdict.reached for verdict in goals.judge(report.summarise(
            {"start-empty": {"pelton": [{"start_ms": value}]}}))] for value in (20.5, 20.0))
        self.assertEqual((over, under), ([False], [True]))

    def test_table_and_calls(self):
        taken = {"calls-fetch": {"pelton": [{"calls_per_request": 2.0, "call sendfile": 1.0}]}}
        summary = report.summarise(taken)
        self.assertIn("sendfile 1.00", report.call_lists(summary)[0])
        self.assertEqual(len(report.table(summary)), 2)


if __name__ == "__main__":
    unittest.main()
