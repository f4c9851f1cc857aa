"""Writing the table of nccl-tests: what this machine has measured, and what is predicted."""

from colllib.busbw import count
from colllib.measured.log import PROGRAMS, Row, Run


def write(run: Run) -> str:
    """A run as nccl-tests prints it.

    Args:
        run: needs its collective and ranks; of each size one row, or one row out of place and one in place. Without
            a GPU's name nothing is said of devices.

    Raises:
        ValueError: for a run without them.

    >>> run = Run("columns", (Row(1, 1e6, 1e-4, 1e10, 1.75e10),), "all-reduce", 8)
    >>> print(write(run).splitlines()[-3])
         1000000        250000     float     sum      -1    100.0   10.00   17.50      0
    """
    if run.collective not in PROGRAMS or run.ranks is None:
        raise ValueError("a table needs its collective and its ranks")
    program, redop, root, _, _ = PROGRAMS[run.collective]
    lines = [f"# Collective test starting: {program}"]
    if run.gpu:
        sizes = [int(row.message) for row in run.rows] or [0]
        ends = f"minBytes {min(sizes)} maxBytes {max(sizes)} step: 2(factor)"
        lines = [f"# nThread 1 nGpus 1 {ends} warmup iters: 5 iters: 20", "#", "# Using devices"]
        for rank in range(run.ranks):
            box, device = divmod(rank, run.gpus_per_box or run.ranks)
            place = f"on node{box + 1:02d} device {device:2d} [0x{device:02x}]"
            lines.append(f"#  Rank {rank:2d} Group  0 Pid {1000 + rank:6d} {place} {run.gpu}")
    lines += ["#", "#       size         count      type   redop    root" + 2 * "     time   algbw   busbw #wrong"]
    lines.append("#        (B)    (elements)           " + 2 * "            (us)  (GB/s)  (GB/s)")
    inside = {row.message: row for row in run.rows if row.in_place}
    for out in (row for row in run.rows if not row.in_place):
        elements = count(run.collective, run.ranks, out.message)
        line = f"{int(out.message):12d}  {elements:12d}     float  {redop:>6s}  {root:6d}"
        for row in filter(None, (out, inside.get(out.message))):
            unchecked = row is not out and run.collective in ("all-to-all", "sendrecv")
            line += _half(row, "N/A" if unchecked else "0")
        lines.append(line)
    bus = [row.busbw / 1e9 for row in run.rows if row.busbw is not None]
    bad = sum(int(row.wrong) for row in run.rows if row.wrong.isdigit())
    lines.append(f"# Out of bounds values : {bad} {'FAILED' if bad else 'OK'}")
    return "\n".join([*lines, f"# Avg bus bandwidth    : {sum(bus) / max(len(bus), 1):g}"])


def _half(row: Row, mark: str) -> str:
    micros = (row.seconds or 0) * 1e6
    digits = 2 if micros < 99.995 else 1 if micros < 9999.95 else 0
    rates = f"{(row.algbw or 0) / 1e9:7.2f} {(row.busbw or 0) / 1e9:7.2f}"
    return f"  {micros:7.{digits}f} {rates}  {row.wrong or mark:>5s}"
