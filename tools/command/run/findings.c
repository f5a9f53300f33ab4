#include "command/run/findings.h"

#include <stdlib.h>
#include <string.h>

/* ---- collecting ---- */

static const char *copy(const char *text)
{
    return cli_format("%s", text);
}

static void copy_strings(ptxgen_emulator_report *r)
{
    r->where = copy(r->where);
    r->text = copy(r->text);
    r->op = copy(r->op);
    r->source = copy(r->source);
    r->other_source = copy(r->other_source);
    r->object = copy(r->object);
}

static void free_strings(ptxgen_emulator_report *r)
{
    free((void *)r->where);
    free((void *)r->text);
    free((void *)r->op);
    free((void *)r->source);
    free((void *)r->other_source);
    free((void *)r->object);
}

static bool shares_a_line(const run_finding *f, const ptxgen_emulator_report *r)
{
    if (f->first.kind != r->kind || strcmp(f->first.object, r->object) != 0)
        return false;
    for (size_t i = 0; i < f->pair_count; i++)
        if (f->pairs[i].line == r->line || f->pairs[i].other_line == r->line ||
            (r->other_line &&
             (f->pairs[i].other_line == r->other_line || f->pairs[i].line == r->other_line)))
            return true;
    return false;
}

static void add_pair(run_finding *f, const run_pair_of_lines *pair)
{
    f->count += pair->count;
    for (size_t i = 0; i < f->pair_count; i++)
        if (f->pairs[i].line == pair->line && f->pairs[i].other_line == pair->other_line) {
            f->pairs[i].count += pair->count;
            return;
        }
    run_pair_of_lines *more = cli_calloc(f->pair_count + 1, sizeof *more);
    if (f->pair_count)
        memcpy(more, f->pairs, f->pair_count * sizeof *more);
    free(f->pairs);
    f->pairs = more;
    f->pairs[f->pair_count++] = *pair;
}

static void free_finding(run_finding *f)
{
    free_strings(&f->first);
    free(f->pairs);
}

static run_finding *append(run_findings *all, const ptxgen_emulator_report *r, uint64_t seed)
{
    run_finding *more = cli_calloc(all->count + 1, sizeof *more);
    if (all->count)
        memcpy(more, all->all, all->count * sizeof *more);
    free(all->all);
    all->all = more;
    run_finding *f = &all->all[all->count++];
    f->first = *r;
    f->seed = seed;
    copy_strings(&f->first);
    return f;
}

/* The report connects findings that were apart. */
static void merge_into(run_findings *all, size_t to, const ptxgen_emulator_report *r)
{
    for (size_t i = to + 1; i < all->count;) {
        run_finding *other = &all->all[i];
        if (!shares_a_line(other, r)) {
            i++;
            continue;
        }
        for (size_t k = 0; k < other->pair_count; k++)
            add_pair(&all->all[to], &other->pairs[k]);
        free_finding(other);
        memmove(other, other + 1, (all->count - i - 1) * sizeof *other);
        all->count--;
    }
}

/* A line that conflicts with one above it says more than the reverse. */
static void speak_for(run_finding *f, const ptxgen_emulator_report *r, uint64_t seed)
{
    if (f->first.line >= f->first.other_line || r->line <= r->other_line)
        return;
    free_strings(&f->first);
    f->first = *r;
    f->seed = seed;
    copy_strings(&f->first);
}

/* The pair of `first` comes first. */
static void put_first(run_finding *f)
{
    for (size_t i = 1; i < f->pair_count; i++)
        if (f->pairs[i].line == f->first.line && f->pairs[i].other_line == f->first.other_line) {
            const run_pair_of_lines moved = f->pairs[i];
            f->pairs[i] = f->pairs[0];
            f->pairs[0] = moved;
        }
}

static void collect(run_findings *all, const ptxgen_emulator_report *r, uint64_t seed)
{
    const run_pair_of_lines pair = {r->line, r->other_line, r->count, seed};
    size_t at = 0;
    while (at < all->count && !shares_a_line(&all->all[at], r))
        at++;
    if (at == all->count)
        append(all, r, seed);
    else
        merge_into(all, at, r);
    speak_for(&all->all[at], r, seed);
    add_pair(&all->all[at], &pair);
    put_first(&all->all[at]);
}

void run_findings_add(run_findings *all, const ptxgen_emulator_report *r, uint64_t seed)
{
    if (run_is_suppressed(&all->filter, all->entry ? all->entry : "", r))
        all->suppressed++;
    else
        collect(all, r, seed);
}

void run_findings_collect(run_findings *all, const ptxgen_emulator *emu, uint64_t seed)
{
    ptxgen_emulator_report r;
    for (size_t i = 0; ptxgen_emulator_get_report(emu, i, &r); i++)
        run_findings_add(all, &r, seed);
    all->left_out += ptxgen_emulator_reports_left_out(emu);
}

void run_findings_free(run_findings *all)
{
    for (size_t i = 0; i < all->count; i++)
        free_finding(&all->all[i]);
    free(all->all);
    run_suppressions_free(&all->filter);
    *all = (run_findings){.file = NULL};
}

size_t run_findings_of(const run_findings *all, ptxgen_emulator_report_class c)
{
    size_t n = 0;
    for (size_t i = 0; i < all->count; i++)
        n += ptxgen_emulator_report_class_of(all->all[i].first.kind) == c;
    return n;
}

int run_findings_exit(const run_findings *all)
{
    return run_findings_of(all, PTXGEN_EMULATOR_UNDEFINED)  ? CLI_NO
           : run_findings_of(all, PTXGEN_EMULATOR_RELIANCE) ? CLI_RELIES
                                                            : CLI_OK;
}

/* ---- text ---- */

enum { PAIRS_SHOWN = 4, SHOWN_OF_A_KIND = 8 };

static const char *const prefix[] = {"", "relies on ptxas or the hardware: ", "advice: "};

static void print_source(const ptxgen_emulator_report *r, FILE *to)
{
    if (*r->source)
        fprintf(to, "; source %s:%d", r->source, r->source_line);
    if (*r->other_source)
        fprintf(to, "%s %s:%d", *r->source ? " and" : "; source of the other", r->other_source,
                r->other_source_line);
}

static void print_pairs(const run_finding *f, FILE *to)
{
    if (f->pair_count < 2)
        return;
    fprintf(to, "; also lines");
    for (size_t i = 1; i < f->pair_count && i <= PAIRS_SHOWN; i++) {
        fprintf(to, "%s %d", i > 1 ? "," : "", f->pairs[i].line);
        if (f->pairs[i].other_line)
            fprintf(to, "/%d", f->pairs[i].other_line);
    }
    if (f->pair_count > PAIRS_SHOWN + 1)
        fprintf(to, " and %zu more pairs", f->pair_count - PAIRS_SHOWN - 1);
}

static void print_finding(const run_findings *all, const run_finding *f, FILE *to)
{
    const ptxgen_emulator_report *r = &f->first;
    fprintf(to, "%s%s%d: %s%s: %s [%s, CTA %u,%u,%u warp %u lane %u", all->file,
            all->at ? all->at : ":", r->line, prefix[ptxgen_emulator_report_class_of(r->kind)],
            ptxgen_emulator_report_name(r->kind), r->text, r->op, r->cta[0], r->cta[1], r->cta[2],
            r->warp, r->lane);
    if (*r->where)
        fprintf(to, "; %s", r->where);
    fprintf(to, "; met %llu times", (unsigned long long)f->count);
    print_pairs(f, to);
    print_source(r, to);
    if (all->seeded)
        fprintf(to, "; seed %llu", (unsigned long long)f->seed);
    fprintf(to, "]\n");
}

/* Of a kind that is no defect there may be hundreds, such as one of each tcgen05.ld that nobody has
 * waited for: a few of them show what it is. */
static void print_class(const run_findings *all, ptxgen_emulator_report_class c, FILE *to)
{
    size_t of_kind[PTXGEN_EMULATOR_REPORT_KINDS] = {0};
    for (size_t i = 0; i < all->count; i++) {
        const ptxgen_emulator_report_kind kind = all->all[i].first.kind;
        if (ptxgen_emulator_report_class_of(kind) == c &&
            (of_kind[kind]++ < SHOWN_OF_A_KIND || c == PTXGEN_EMULATOR_UNDEFINED))
            print_finding(all, &all->all[i], to);
    }
    for (int k = 0; c != PTXGEN_EMULATOR_UNDEFINED && k < PTXGEN_EMULATOR_REPORT_KINDS; k++)
        if (of_kind[k] > SHOWN_OF_A_KIND)
            fprintf(to, "%s: %s%s: %zu more at other lines, which --json names\n", all->file,
                    prefix[c], ptxgen_emulator_report_name(k), of_kind[k] - SHOWN_OF_A_KIND);
}

void run_findings_text(const run_findings *all, FILE *to)
{
    for (int c = PTXGEN_EMULATOR_UNDEFINED; c <= PTXGEN_EMULATOR_ADVICE; c++)
        print_class(all, c, to);
    if (all->left_out)
        fprintf(to,
                "%s: others of the kinds with most reports were met %llu times and are not kept\n",
                all->file, (unsigned long long)all->left_out);
}

void run_findings_summary(const run_findings *all, uint64_t runs, FILE *to)
{
    const size_t reliances = run_findings_of(all, PTXGEN_EMULATOR_RELIANCE),
                 advice = run_findings_of(all, PTXGEN_EMULATOR_ADVICE);
    fprintf(to, "%s: %s in %s", all->file,
            cli_count(run_findings_of(all, PTXGEN_EMULATOR_UNDEFINED), "defect", "defects"),
            cli_count(runs, "run", "runs"));
    if (reliances)
        fprintf(to, "; relies on ptxas or the hardware: %zu", reliances);
    if (advice)
        fprintf(to, "; advice: %zu", advice);
    if (all->suppressed)
        fprintf(to, "; suppressed: %zu", all->suppressed);
    fprintf(to, "\n");
    for (size_t i = 0; i < all->filter.count; i++)
        if (!all->filter.all[i].used && all->filter.all[i].from)
            fprintf(to, "%s: the suppression in line %d of its file suppressed nothing\n",
                    all->file, all->filter.all[i].from);
}

/* ---- JSON ---- */

static cJSON *thread_json(const uint32_t cta[3], uint32_t warp, uint32_t lane)
{
    cJSON *o = cJSON_CreateObject(), *id = cJSON_AddArrayToObject(o, "cta");
    for (int i = 0; i < 3; i++)
        cJSON_AddItemToArray(id, cJSON_CreateNumber(cta[i]));
    cli_json_integer(o, "warp", warp);
    if (lane < 32)
        cli_json_integer(o, "lane", lane);
    return o;
}

static void add_source(cJSON *o, const char *file, int line)
{
    if (!*file)
        return;
    cJSON *source = cJSON_AddObjectToObject(o, "source");
    cJSON_AddStringToObject(source, "file", file);
    cli_json_integer(source, "line", line);
}

static cJSON *other_json(const ptxgen_emulator_report *r)
{
    cJSON *o = cJSON_CreateObject();
    cli_json_integer(o, "line", r->other_line);
    cJSON_AddStringToObject(o, "op", r->other_op);
    if (r->other_thread)
        cJSON_AddItemToObject(o, "thread", thread_json(r->other_cta, r->other_warp, r->other_lane));
    add_source(o, r->other_source, r->other_source_line);
    return o;
}

static cJSON *pairs_json(const run_finding *f)
{
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; i < f->pair_count; i++) {
        cJSON *o = cJSON_CreateObject();
        cli_json_integer(o, "line", f->pairs[i].line);
        cli_json_integer(o, "other_line", f->pairs[i].other_line);
        cli_json_integer(o, "count", (int64_t)f->pairs[i].count);
        cli_json_integer(o, "seed", (int64_t)f->pairs[i].seed);
        cJSON_AddItemToArray(all, o);
    }
    return all;
}

static cJSON *finding_json(const run_finding *f)
{
    static const char *const classes[] = {"undefined", "reliance", "advice"};
    const ptxgen_emulator_report *r = &f->first;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "id", ptxgen_emulator_report_id(r->kind));
    cJSON_AddStringToObject(o, "kind", ptxgen_emulator_report_name(r->kind));
    cJSON_AddStringToObject(o, "class", classes[ptxgen_emulator_report_class_of(r->kind)]);
    cli_json_integer(o, "line", r->line);
    cli_json_integer(o, "other_line", r->other_line);
    cJSON_AddStringToObject(o, "op", r->op);
    cJSON_AddStringToObject(o, "where", r->where);
    cJSON_AddStringToObject(o, "object", r->object);
    cJSON_AddStringToObject(o, "text", r->text);
    cli_json_integer(o, "count", (int64_t)f->count);
    cli_json_integer(o, "seed", (int64_t)f->seed);
    cJSON_AddItemToObject(o, "thread", thread_json(r->cta, r->warp, r->lane));
    add_source(o, r->source, r->source_line);
    if (r->other_line)
        cJSON_AddItemToObject(o, "other", other_json(r));
    cJSON_AddItemToObject(o, "pairs", pairs_json(f));
    return o;
}

void run_findings_json(const run_findings *all, cJSON *into)
{
    static const char *const names[] = {"defects", "reliances", "advice"};
    for (int c = PTXGEN_EMULATOR_UNDEFINED; c <= PTXGEN_EMULATOR_ADVICE; c++) {
        cJSON *array = cJSON_AddArrayToObject(into, names[c]);
        for (size_t i = 0; i < all->count; i++)
            if ((int)ptxgen_emulator_report_class_of(all->all[i].first.kind) == c)
                cJSON_AddItemToArray(array, finding_json(&all->all[i]));
    }
    cli_json_integer(into, "suppressed", (int64_t)all->suppressed);
    cli_json_integer(into, "left_out", (int64_t)all->left_out);
}

ptxgen_status run_findings_filter(run_findings *f, const cli_settings *set, ptxgen_error *err)
{
    const char *alone = set->ignore_count ? "ignore" : set->suppress ? "suppress" : "sarif";
    ptxgen_status status = PTXGEN_OK;
    if (!set->check_races && (set->ignore_count || set->suppress || set->sarif))
        return cli_fail(err, PTXGEN_EINVAL,
                        "--%s is about the reports of --check-races, which is not given", alone);
    for (size_t i = 0; i < set->ignore_count && status == PTXGEN_OK; i++)
        status = run_suppress_kind(&f->filter, set->ignore[i], err);
    return status == PTXGEN_OK && set->suppress ? run_suppress_file(&f->filter, set->suppress, err)
                                                : status;
}
