"""Sorting and choosing from arrays. Each is written out once: NumPy's sorts are compiled anew for every type of array,
and take seconds each.
"""

from __future__ import annotations

import numpy as np

from .loading import bare_inside, inside

#: Whole numbers up to so many times their count are sorted by counting.
MOST_GAPS = 16


@inside
def some_of(values, which):
    """Return some of the values."""
    result = np.empty(len(which), values.dtype)
    for k in range(len(which)):
        result[k] = values[which[k]]
    return result


@inside
def with_room(values, count, more):
    """Copy the first values into an array that has room for more."""
    result = np.empty(len(values) + more, values.dtype)
    for k in range(count):
        result[k] = values[k]
    return result


@bare_inside
def insert(values, items, first, e, value, item):
    """Enter a value and its item into sorted ones that begin at ``first``; place ``e``, the last, is free or lost."""
    while e > first and values[e - 1] > value:
        values[e], items[e] = values[e - 1], items[e - 1]
        e -= 1
    values[e], items[e] = value, item


@bare_inside
def sort_entries(node, distance, first, count):
    """Sort entries by distance: insertion over falling gaps (Shell), so short runs are quick and long ones not slow."""
    gap = 1
    while gap < count // 9:
        gap = 3 * gap + 1
    while gap:
        for i in range(first + gap, first + count):
            n, d = node[i], distance[i]
            j = i - gap
            while j >= first and distance[j] > d:
                node[j + gap], distance[j + gap] = node[j], distance[j]
                j -= gap
            node[j + gap], distance[j + gap] = n, d
        gap //= 3


@inside
def sorted_order(major, minor):
    """Return the order by ``major``, then by ``minor``: a merge sort from the bottom up.

    Values move along with their places, so that every pass reads and writes in order. Places take four bytes, since
    this is done at moments when memory is short: there are fewer than 2^31 numbers.
    """
    n = len(major)
    order, value, width = np.empty(n, np.int32), np.empty(n, major.dtype), 1
    next_order, next_value = np.empty(n, np.int32), np.empty(n, major.dtype)
    for k in range(n):
        order[k], value[k] = k, major[k]
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            a, b = start, middle
            for k in range(start, stop):
                left = a < middle
                if left and b < stop:
                    left = value[a] < value[b] or (value[a] == value[b] and minor[order[a]] <= minor[order[b]])
                i = a if left else b
                next_order[k], next_value[k] = order[i], value[i]
                a, b = a + left, b + (not left)
        order, next_order, value, next_value, width = next_order, order, next_value, value, 2 * width
    return order


@inside
def counted_order(order, number, limit):
    """Return an order sorted by whole numbers below a limit, equal ones as they were. O(n + limit)."""
    place, result = np.zeros(limit + 1, np.int32), np.empty(len(order), np.int32)
    for k in order:
        place[number[k] + 1] += 1
    for i in range(limit):
        place[i + 1] += place[i]
    for k in order:
        result[place[number[k]]] = k
        place[number[k]] += 1
    return result


@inside
def order_of_numbers(major, minor):
    """Return the order of whole numbers from 0 on by ``major``, then by ``minor``: counted where they lie densely."""
    n, order, most, least = len(major), np.empty(len(major), np.int32), np.int64(0), np.int64(0)
    for k in range(n):
        order[k], most, least = k, max(most, major[k] + 1), max(least, minor[k] + 1)
    if max(most, least) <= MOST_GAPS * n:
        return counted_order(counted_order(order, minor, least), major, most)
    values, keys = np.empty(n), np.empty(n, np.int64)  # the types of other sorts, which are compiled anyhow
    for k in range(n):
        values[k], keys[k] = major[k], minor[k]
    return sorted_order(values, keys)


@bare_inside
def select(points, order, start, stop, middle, k):
    """Reorder rows, and ``order`` with them, so that column k is split at ``middle``. Quickselect: O(stop - start)."""
    low, high = start, stop - 1
    while low < high:
        a, b, c = points[low, k], points[(low + high) >> 1, k], points[high, k]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while points[i, k] < pivot:
                i += 1
            while points[j, k] > pivot:
                j -= 1
            if i <= j:
                for column in range(points.shape[1]):
                    points[i, column], points[j, column] = points[j, column], points[i, column]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return
