#include "exact.h"

#include <math.h>
#include <string.h>

exact exact_of(bool negative, uint64_t sig, int exp)
{
    exact r = {{0}};
    const int at = exp + EXACT_UNIT;
    for (int bit = 0; bit < 64; bit++)
        if (sig >> bit & 1)
            r.w[(at + bit) / 32] |= 1u << (at + bit) % 32;
    return negative ? exact_neg(r) : r;
}

exact exact_of_double(double x)
{
    int e = 0;
    const double m = frexp(fabs(x), &e);
    uint64_t sig = (uint64_t)ldexp(m, 53);
    e -= 53;
    while (sig && !(sig & 1)) {
        sig >>= 1;
        e++;
    }
    return exact_of(signbit(x) != 0, sig, sig ? e : 0);
}

exact exact_add(exact a, exact b)
{
    uint64_t carry = 0;
    for (int i = 0; i < EXACT_WORDS; i++) {
        carry += (uint64_t)a.w[i] + b.w[i];
        a.w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return a;
}

exact exact_neg(exact a)
{
    uint64_t carry = 1;
    for (int i = 0; i < EXACT_WORDS; i++) {
        carry += (uint32_t)~a.w[i];
        a.w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return a;
}

exact exact_double(exact a)
{
    return exact_add(a, a);
}

int exact_sign(const exact *a)
{
    if (a->w[EXACT_WORDS - 1] >> 31)
        return -1;
    for (int i = 0; i < EXACT_WORDS; i++)
        if (a->w[i])
            return 1;
    return 0;
}

int exact_cmp(exact a, exact b)
{
    const exact d = exact_add(a, exact_neg(b));
    return exact_sign(&d);
}

exact exact_product(double a, double b)
{
    int ea = 0, eb = 0;
    const uint64_t sa = (uint64_t)ldexp(frexp(fabs(a), &ea), 32);
    const uint64_t sb = (uint64_t)ldexp(frexp(fabs(b), &eb), 32);
    uint64_t p = sa * sb;
    int e = ea + eb - 64;
    while (p && !(p & 1)) {
        p >>= 1;
        e++;
    }
    return exact_of((signbit(a) != 0) != (signbit(b) != 0), p, p ? e : 0);
}

exact exact_truncate(exact a, int unit)
{
    const bool negative = exact_sign(&a) < 0;
    if (negative)
        a = exact_neg(a);
    for (int bit = 0; bit < unit + EXACT_UNIT && bit < EXACT_WORDS * 32; bit++)
        a.w[bit / 32] &= ~(1u << bit % 32);
    return negative ? exact_neg(a) : a;
}

int exact_top(exact a)
{
    if (exact_sign(&a) < 0)
        a = exact_neg(a);
    for (int bit = EXACT_WORDS * 32 - 1; bit >= 0; bit--)
        if (a.w[bit / 32] >> bit % 32 & 1)
            return bit - EXACT_UNIT;
    return INT32_MIN;
}

double exact_to_double(exact a)
{
    const bool negative = exact_sign(&a) < 0;
    if (negative)
        a = exact_neg(a);
    double r = 0;
    for (int i = EXACT_WORDS - 1; i >= 0; i--)
        if (a.w[i])
            r += ldexp((double)a.w[i], 32 * i - EXACT_UNIT);
    return negative ? -r : r;
}

bool exact_rounds_to_high(exact x, exact lo, exact hi, char mode, bool lo_is_even)
{
    const bool negative = exact_sign(&x) < 0;
    if (exact_cmp(x, lo) == 0)
        return false;
    if (exact_cmp(x, hi) == 0)
        return true;
    if (mode == 'z')
        return negative;
    if (mode == 'm' || mode == 'p')
        return mode == 'p';
    const int side = exact_cmp(exact_double(x), exact_add(lo, hi));
    if (side != 0)
        return side > 0;
    return mode == 'a' ? !negative : !lo_is_even;
}
