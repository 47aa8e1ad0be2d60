"""What must be reached. A goal looks at the results of all rows and gives a verdict, or None when
what it needs was not measured.

CPU figures are compared by the minimum of their rounds, since other work on the machine only ever
adds; all others by the median."""

import dataclasses
import operator


COMPARE = {"<=": operator.le, ">=": operator.ge}


@dataclasses.dataclass
class Verdict:
    row: str
    goal: str
    measured: str
    reached: bool


def value(results, row, kind, metric):
    summary = results.get(row, {}).get(kind, {}).get(metric)
    if summary is None:
        return None
    return summary["min" if metric.startswith("cpu_") else "median"]


@dataclasses.dataclass
class Limit:
    """Pelton's own figure against a number."""
    row: str
    metric: str
    limit: float
    unit: str
    relation: str = "<="

    def judge(self, results):
        got = value(results, self.row, "pelton", self.metric)
        if got is None:
            return None
        return Verdict(self.row, f"{self.metric} {self.relation} {self.limit:g} {self.unit}",
                       f"{got:.3g} {self.unit}", COMPARE[self.relation](got, self.limit))


@dataclasses.dataclass
class Ratio:
    """Pelton's figure divided by that of Apache Kafka, or of the raw program of the same run."""
    row: str
    metric: str
    relation: str
    factor: float
    text: str
    other: str = "kafka"

    def judge(self, results):
        ours = value(results, self.row, "pelton", self.metric)
        theirs = value(results, self.row, self.other, self.metric)
        if ours is None or not theirs:
            return None
        ratio = ours / theirs
        shown = f"{ratio:.2f}x" if ratio >= 1 else f"1/{1 / ratio:.2f}" if ratio else "0"
        goal = f"{self.metric} {self.relation} {self.text} of {self.other}'s"
        return Verdict(self.row, goal, shown, COMPARE[self.relation](ratio, self.factor))


GOALS = [
    Limit("start-empty", "start_ms", 20, "ms"),
    Limit("start-1000", "start_ms", 100, "ms"),
    Limit("start-3gb", "start_ms", 30, "ms"),
    Limit("idle", "rss_mib", 12, "MiB"),
    Limit("idle", "idle_cpu_ms", 0, "ms in 10 s"),
    Ratio("produce", "mb_per_s", ">=", 1, "1x"),
    Ratio("produce", "cpu_s_per_gb", "<=", 1 / 5, "1/5"),
    Ratio("produce-128k", "cpu_s_per_gb", "<=", 1 / 8, "1/8"),
    Ratio("produce-128k", "cpu_s_per_gb", "<=", 1.5, "1.5x", "raw"),
    Ratio("flat-produce", "cpu_s_per_gb", "<=", 1.5, "1.5x", "raw"),
    Ratio("flat-produce-128k", "cpu_s_per_gb", "<=", 1.5, "1.5x", "raw"),
    Ratio("flat-fetch-1m", "cpu_s_per_gb", "<=", 1.3, "1.3x", "raw"),
    Ratio("produce-synced", "mb_per_s", ">=", 3, "3x"),
    Ratio("produce-synced-16", "mb_per_s", ">=", 8, "8x"),
    Ratio("produce-synced-16x16", "mb_per_s", ">=", 8, "8x"),
    Ratio("consume", "mb_per_s", ">=", 1, "1x"),
    Ratio("consume", "cpu_s_per_gb", "<=", 1 / 4, "1/4"),
    Ratio("consume", "cpu_s_per_gb", "<=", 1.3, "1.3x", "raw"),
    Ratio("consume-64k-buffer", "cpu_s_per_gb", "<=", 1 / 4, "1/4"),
    Ratio("consume-64k-buffer", "cpu_s_per_gb", "<=", 1.3, "1.3x", "raw"),
    Ratio("consume-4m-64k-buffer", "cpu_s_per_gb", "<=", 1 / 4, "1/4"),
    Ratio("consume-4m-64k-buffer", "cpu_s_per_gb", "<=", 1.3, "1.3x", "raw"),
    *(Ratio(row, f"consumed_{percentile}_us", "<=", factor, text)
      for row in ("latency", "latency-synced")
      for percentile, factor, text in (("p50", 1 / 2, "1/2"), ("p99", 1 / 3, "1/3"))),
    Ratio("rebalance-200", "left_p50_us", "<=", 1, "1x"),
    Ratio("rebalance-200", "cpu_ms_per_round", "<=", 1 / 5, "1/5"),
    Ratio("long-poll-1000", "cpu_us_per_answer", "<=", 1.3, "1.3x", "raw"),
    Limit("idle-connections", "bytes_per_connection", 8192, "bytes"),
    Ratio("topics", "at_once_ms", "<=", 1 / 5, "1/5"),
    Ratio("topics", "one_by_one_ms", "<=", 1 / 5, "1/5"),
    Ratio("topics", "metadata_p50_us", "<=", 1 / 5, "1/5"),
    Limit("overload", "goodput_of_peak", 0.9, "of peak", ">="),
    Limit("overload", "rss_mib_max", 96, "MiB"),
    Limit("overload", "other_produce_max_us", 1_000_000, "us"),
]


def judge(results):
    return [verdict for goal in GOALS if (verdict := goal.judge(results)) is not None]
