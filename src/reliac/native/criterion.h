/* What a criterion means in C: see algorithm/criteria.py, which has all formulas. */

#ifndef RELIAC_CRITERION_H
#define RELIAC_CRITERION_H

#include "shared.h"

typedef struct {
    int sums;      /* stored numbers are sums over pairs of objects; else the largest distance */
    int offset;    /* distances between representatives: the spreads of both sides are taken off */
    int by_size;   /* times w v / (w + v) */
    double factor; /* what the numbers of each part of a pair are multiplied by */
    double joint;  /* the weight of a joined pair; 0: the sum of both, and groups may have more parts */
} Criterion;

/* The twin of distance_from_sums in algorithm/criteria.py: a test compares the two, bit for bit. */
static inline double distance_from_sums(const Criterion *criterion, double stored, double spread, double weight,
                                        double other_spread, double other_weight)
{
    double twice, numerator, by, value;
    if (!criterion->offset) return stored / (weight * other_weight);
    twice = 2.0 * weight * other_weight;
    numerator = twice * stored - (other_weight * other_weight * spread + weight * weight * other_spread);
    by = criterion->by_size ? weight + other_weight : weight * other_weight;
    value = numerator / (twice * by);
    return value > 0.0 || value != value ? value : 0.0; /* what is no number stays none, as in NumPy */
}

/* What two numbers of the parts of a pair become. */
static inline double joined(const Criterion *criterion, double one, double other)
{
    if (!criterion->sums) return one > other ? one : other;
    return one * criterion->factor + other * criterion->factor;
}

#endif
