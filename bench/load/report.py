"""From samples to what a reader looks at: summaries, a table, JSON, bar charts."""

import json

from bench.load import goals, measure

# Metrics of the readable table, in its order; the JSON file has all of them.
SHOWN = ("start_ms", "stop_ms", "rss_mib", "idle_cpu_ms", "threads", "mb_per_s", "mb_per_s_sum",
         "fetch_mb_per_s", "cpu_s_per_gb", "ack_p50_us", "ack_p99_us", "consumed_p50_us",
         "consumed_p99_us", "consumed_p99.9_us", "left_p50_us", "cpu_ms_per_round", "cpu_us_per_answer",
         "late_p99_us", "bytes_per_connection", "at_once_ms", "one_by_one_ms", "removed_ms", "metadata_p50_us",
         "goodput_of_peak", "other_produce_p99_us", "rss_mib_max", "calls_per_request", "sendfile_calls",
         "io_workers")
KINDS = ("kafka", "pelton", "raw")
_COLOURS = {"kafka": "#888888", "pelton": "#2a7ab0", "raw": "#c9b458"}
CHARTED = ("start_ms", "mb_per_s", "cpu_s_per_gb", "consumed_p50_us", "consumed_p99_us",
           "calls_per_request")


def summarise(samples):
    """{row: {kind: [sample, ...]}} -> {row: {kind: {metric: summary}}}. A metric counts when every
    sample has it."""
    return {row: {kind: _metrics(taken) for kind, taken in kinds.items() if taken}
            for row, kinds in samples.items()}


def _metrics(taken):
    shared = [name for name in taken[0] if all(name in sample for sample in taken)]
    return {name: measure.summary([sample[name] for sample in taken]) for name in shared}


def table(results):
    """Lines: minimum and median of each metric for each broker, and Pelton's share of Kafka's."""
    lines = [f"{'row':22}{'metric':20}" + "".join(f"{kind + ' min/median':>24}" for kind in KINDS)
             + f"{'pelton/kafka':>14}{'pelton/raw':>12}"]
    for row, kinds in results.items():
        for metric in SHOWN:
            if any(metric in kinds.get(kind, {}) for kind in KINDS):
                lines.append(_line(results, row, metric))
    return lines


def _line(results, row, metric):
    cells = []
    for kind in KINDS:
        summary = results[row].get(kind, {}).get(metric)
        cells.append(f"{_short(summary['min'])} / {_short(summary['median'])}" if summary else "-")
    ours = goals.value(results, row, "pelton", metric)
    ratios = []
    for other in ("kafka", "raw"):
        theirs = goals.value(results, row, other, metric)
        ratios.append(f"{ours / theirs:.3f}" if ours is not None and theirs else "-")
    return (f"{row:22}{metric:20}" + "".join(f"{cell:>24}" for cell in cells)
            + f"{ratios[0]:>14}{ratios[1]:>12}")


def _short(number):
    return f"{number:.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def call_lists(results):
    """System calls per request by name, for the rows that counted them."""
    lines = []
    for row, kinds in results.items():
        for kind, metrics in kinds.items():
            names = {name.removeprefix("call "): summary["median"]
                     for name, summary in metrics.items() if name.startswith("call ")}
            if names:
                lines.append(f"{row:22}{kind:8}" + ", ".join(
                    f"{name} {count:.2f}" for name, count in names.items()))
    return lines


def verdict_lines(verdicts):
    return [f"{'pass' if verdict.reached else 'MISS':6}{verdict.row:24}{verdict.goal:48}"
            f"{verdict.measured}" for verdict in verdicts]


def write_json(path, facts, samples, results, verdicts):
    path.write_text(json.dumps({
        "machine": facts, "samples": samples, "summary": results,
        "goals": [vars(verdict) for verdict in verdicts]}, indent=1) + "\n")


def write_chart(path, results, metric):
    """Bars of one metric as SVG: no plotting program needed. False when nothing has the metric."""
    bars = [(row, kind, goals.value(results, row, kind, metric)) for row in results
            for kind in KINDS if goals.value(results, row, kind, metric) is not None]
    if not bars:
        return False
    longest = max(number for *_, number in bars) or 1
    height, label, room = 18, 240, 560
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{label + room + 100}" '
             f'height="{height * (len(bars) + 2)}" font-family="sans-serif" font-size="12">',
             f'<text x="4" y="14" font-weight="bold">{metric}</text>']
    for at, (row, kind, number) in enumerate(bars, 1):
        top = at * height + 4
        width = max(room * number / longest, 1)
        parts.append(f'<text x="4" y="{top + 12}">{row} {kind}</text>')
        parts.append(f'<rect x="{label}" y="{top}" width="{width:.1f}" height="{height - 4}" '
                     f'fill="{_COLOURS[kind]}"/>')
        parts.append(f'<text x="{label + width + 4:.1f}" y="{top + 12}">{_short(number)}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")
    return True
