#!/usr/bin/env python3
"""Fits the universal scalability law X(N) = λN / (1 + σ(N−1) + κN(N−1)) to what was measured, and says what follows for more processors.

usl.py [PROCESSORS…] (16 64) reads lines "ROUND N X" from standard input: in this round N processors carried X requests a second.
λ is what one processor carries, σ the share of the work that only one can do at a time, κ what each pair of processors costs the other.

Three or more different N determine all three. Two determine λ and the loss alone, not whether it is σ or κ: then both ends are reported, all of it σ
(the best that can follow) and all of it κ (the worst). The fit is made for all rounds together, and for each round, so that one sees how much it moves.
"""
import sys


def solve(rows, free):
    """Weighted least squares of N/X = a + b(N−1) + cN(N−1), error relative to N/X; the parameters that are not free stay 0."""
    terms = [(1.0, n - 1.0, n * (n - 1.0)) for n, _ in rows]
    wanted = [n / x for n, x in rows]
    size = len(free)
    matrix = [[sum(t[i] * t[j] / w**2 for t, w in zip(terms, wanted)) for j in free] + [sum(t[i] / w for t, w in zip(terms, wanted))] for i in free]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(matrix[k][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for k in range(size):
            if k != i:
                factor = matrix[k][i] / matrix[i][i]
                matrix[k] = [p - factor * q for p, q in zip(matrix[k], matrix[i])]
    found = [0.0, 0.0, 0.0]
    for k, i in enumerate(free):
        found[i] = matrix[k][size] / matrix[k][k]
    error = sum((sum(p * t for p, t in zip(found, term)) / w - 1) ** 2 for term, w in zip(terms, wanted))
    return found, error


def fit(rows, choices):
    """The best fit without a negative parameter: λ, σ, κ, and the mean error of a point."""
    best = min((solve(rows, free) for free in choices), key=lambda result: (min(result[0]) < -1e-15, result[1]))
    (a, b, c), error = best
    return 1 / a, b / a, c / a, (error / len(rows)) ** 0.5


def predict(law, n):
    return law[0] * n / (1 + law[1] * (n - 1) + law[2] * n * (n - 1))


def peak(law):
    return ((1 - law[1]) / law[2]) ** 0.5 if law[2] > 0 and law[1] < 1 else None


def report(name, rows_by_round, choices, processors):
    everything = [row for rows in rows_by_round.values() for row in rows]
    law = fit(everything, choices)
    each = [fit(rows, choices) for rows in rows_by_round.values()]
    if law[1] == 0 and law[2] == 0:
        print(f"{name}: λ = {law[0]:,.0f} requests/s, and no loss is seen; points lie {law[3]:.1%} off in the mean. Less than that cannot be seen, so nothing follows for more.")
        return
    print(f"{name}: λ = {law[0]:,.0f} requests/s, σ = {law[1]:.4f}, κ = {law[2]:.5f}; points lie {law[3]:.1%} off in the mean")
    for n in processors:
        alone = sorted(predict(one, n) for one in each)
        print(f"  {n} processors: {predict(law, n):,.0f} requests/s, {predict(law, n) / predict(law, 1):.1f} x one (rounds: {alone[0]:,.0f} to {alone[-1]:,.0f})")
    if top := peak(law):
        print(f"  most at {top:.0f} processors")


def main():
    processors = [int(word) for word in sys.argv[1:]] or [16, 64]
    rounds = {}
    for line in sys.stdin:
        words = line.split()
        rounds.setdefault(words[0], []).append((int(words[1]), float(words[2])))
    measured = sorted({n for rows in rounds.values() for n, _ in rows})
    rounds = {name: rows for name, rows in rounds.items() if {n for n, _ in rows} == set(measured)}
    if len(measured) < 2 or not rounds:
        print("No law can be fitted: one number of processors only was measured.")
        return
    print(f"Fitted to N = {', '.join(map(str, measured))}, {len(rounds)} rounds. Everything beyond N = {measured[-1]} is predicted, not measured.")
    if len(measured) == 2:
        print("Two points do not distinguish σ from κ: the truth lies between the two, if the law holds at all.")
        if fit([row for rows in rounds.values() for row in rows], [(0, 1), (0,)])[1] == 0:
            report("fit", rounds, [(0,)], processors)
            return
        report("all of the loss is σ", rounds, [(0, 1), (0,)], processors)
        report("all of the loss is κ", rounds, [(0, 2), (0,)], processors)
    else:
        report("fit", rounds, [(0, 1, 2), (0, 1), (0, 2), (0,)], processors)


main()
