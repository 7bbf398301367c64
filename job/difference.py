"""difference - a difference between launches that took turns, and how sure it is

The estimate is that of Hodges and Lehmann, the interval that of Wilcoxon's signed-rank test
(Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, 3.1 to 3.3). Both
assume only that a difference of two commands that do not differ is as likely to be positive as
negative, whatever the noise is: the random order of each turn sees to that.
"""
import functools
import math
import statistics

FEWEST, MOST = 6, 300  # turns: with fewer, no interval has 95 % confidence; more take seconds
NINES = 1.96  # standard errors from the middle of an interval of 95 % to its ends
POWER = 0.84  # standard errors more, so that a difference is found in 80 % of comparisons

@functools.lru_cache()
def counts(n):
    """How many subsets of 1, 2, ..., N have the sum 0, 1, 2, ...; N up to MOST"""
    found = [1]
    for i in range(1, n + 1):
        found = [without + having for without, having in zip(found + [0] * i, [0] * i + found)]
    return found

def estimate(differences, confidence=0.95):
    """Returns the middle of the means of any two of DIFFERENCES (and of each with itself), and the
    lower and the upper limit of its interval; None if there are too few for CONFIDENCE."""
    n, below, cut = len(differences), 0, 0
    means = sorted((one + other) / 2 for i, one in enumerate(differences)
                   for other in differences[:i + 1])
    for count in counts(n):
        below += count
        if 2 * below > (1 - confidence) * 2 ** n:
            break
        cut += 1
    return (statistics.median(means), means[cut - 1], means[-cut]) if cut and n else None

def needed(turns, half, wanted):
    """How many turns find a difference of WANTED in four of five comparisons, if half of the
    interval of TURNS turns is HALF. Rounded up to one digit, or to two if it begins with 1."""
    count = max(FEWEST, math.ceil(turns * (half / wanted * (NINES + POWER) / NINES) ** 2))
    digit = 10 ** max(0, int(math.log10(count)) - (str(count)[0] == '1'))
    return math.ceil(count / digit) * digit
