"""Times a peer: the first step, some warm-up steps, then the median of single steps."""
import json
import resource
import statistics
import time

WARM_UP, FEWEST = 5, 5


def timed(step):
    start = time.perf_counter()
    result = step()
    return time.perf_counter() - start, result


def measure(step, loss_of, seconds, peak_mb=lambda: None):
    """Prints one line of JSON. `step()` must have finished when it returns; `loss_of` converts its result to a number.

    `peak_mb` returns the memory of the device that was in use at most, if there is one and that is known.
    """
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
        "best_step_ms": min(times) * 1e3,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "peak_mb": peak_mb(),
        "loss": loss,
    }), flush=True)
