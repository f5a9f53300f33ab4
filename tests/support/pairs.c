#include "pairs.h"

#include <stdint.h>
#include <string.h>

typedef struct state {
    const int *levels;
    int factors;
    bool (*fits)(const pairs_row *);
    bool seen[PAIRS_MAX_FACTORS][PAIRS_MAX_LEVELS][PAIRS_MAX_FACTORS][PAIRS_MAX_LEVELS];
    uint64_t random;
} state;

static int below(state *s, int n)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((s->random >> 33) % (uint64_t)n);
}

/* Pairs of factor f's level with what the row has that no row had yet. */
static int gain(const state *s, const pairs_row *row, int f, int level)
{
    int n = 0;
    for (int g = 0; g < s->factors; g++)
        n += g != f && row->level[g] >= 0 && !s->seen[f][level][g][row->level[g]];
    return n;
}

/* The level that gains most, ties by lot; false: none is allowed. */
static bool choose(state *s, pairs_row *row, int f)
{
    int best = -1, best_gain = -1;
    const int start = below(s, s->levels[f]);
    for (int i = 0; i < s->levels[f]; i++) {
        pairs_row with = *row;
        const int level = (start + i) % s->levels[f], won = gain(s, row, f, level);
        with.level[f] = level;
        if (won <= best_gain || !s->fits(&with))
            continue;
        best = level;
        best_gain = won;
    }
    row->level[f] = best;
    return best >= 0;
}

/* Completes a row that has a pair; the others in an order by lot. */
static bool complete(state *s, pairs_row *row)
{
    int order[PAIRS_MAX_FACTORS];
    if (!s->fits(row))
        return false;
    for (int i = 0; i < s->factors; i++) {
        const int j = below(s, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < s->factors; i++)
        if (row->level[order[i]] < 0 && !choose(s, row, order[i]))
            return false;
    return true;
}

static void mark(state *s, const pairs_row *row)
{
    for (int f = 0; f < s->factors; f++)
        for (int g = 0; g < s->factors; g++)
            s->seen[f][row->level[f]][g][row->level[g]] = true;
}

static bool cover_pair(state *s, const int pair[4], pairs_row *row)
{
    enum { TRIES = 60 };
    for (int t = 0; t < TRIES; t++) {
        memset(row, -1, sizeof *row);
        row->level[pair[0]] = pair[1];
        row->level[pair[2]] = pair[3];
        if (complete(s, row))
            return true;
    }
    return false;
}

size_t pairs_cover(const int *levels, int factors, bool (*fits)(const pairs_row *), pairs_row *rows,
                   size_t most, size_t *left_out)
{
    static state s;
    size_t count = 0;
    memset(&s, 0, sizeof s);
    s.levels = levels;
    s.factors = factors;
    s.fits = fits;
    *left_out = 0;
    for (int f = 0; f < factors; f++)
        for (int g = f + 1; g < factors; g++)
            for (int i = 0; i < levels[f]; i++)
                for (int j = 0; j < levels[g]; j++) {
                    const int pair[4] = {f, i, g, j};
                    if (s.seen[f][i][g][j])
                        continue;
                    if (count == most || !cover_pair(&s, pair, &rows[count]))
                        ++*left_out;
                    else
                        mark(&s, &rows[count++]);
                }
    return count;
}
