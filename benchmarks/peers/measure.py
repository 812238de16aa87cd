"""How every peer is timed: the first step, some to warm up, then the median of single steps."""
import json
import resource
import statistics
import time

WARM_UP, FEWEST = 5, 5


def timed(step):
    start = time.perf_counter()
    result = step()
    return time.perf_counter() - start, result


def measure(step, loss_of, seconds):
    """Prints one line of JSON. `step()` is done when it returns; `loss_of` makes a number of what it returns."""
    first, result = timed(step)
    loss = loss_of(result)
    for _ in range(WARM_UP):
        step()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < FEWEST:
        times.append(timed(step)[0])
    print(json.dumps({
        "first_call_s": first,
        "step_ms": statistics.median(times) * 1e3,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "loss": loss,
    }), flush=True)
