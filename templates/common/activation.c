/* Activations as words and as plain C. */
#include "common/activation.h"

#include <math.h>
#include <stddef.h>

const char *const pg_activation_words[] = {"none",     "relu", "squared_relu", "gelu_tanh",
                                           "gelu_erf", "silu", "sigmoid",      "tanh",
                                           "clamp",    NULL};

double pg_activate(pg_activation activation, double x, double low, double high)
{
    const double root_two_over_pi = 0.79788456080286535588, root_half = 0.70710678118654752440;
    switch (activation) {
    case PG_ACTIVATION_RELU:
        return x > 0 || isnan(x) ? x : 0;
    case PG_ACTIVATION_SQUARED_RELU:
        return x > 0 || isnan(x) ? x * x : 0;
    case PG_ACTIVATION_GELU_TANH:
        return x / (1 + exp(-2 * root_two_over_pi * (x + 0.044715 * x * x * x)));
    case PG_ACTIVATION_GELU_ERF:
        return x * erfc(-x * root_half) / 2;
    case PG_ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case PG_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case PG_ACTIVATION_TANH:
        return tanh(x);
    case PG_ACTIVATION_CLAMP:
        return isnan(x) ? x : fmin(fmax(x, low), high);
    default:
        return x;
    }
}
