/* Parameter texts: what is read is what is printed, and a bad text is refused by name. */
#include "draw_key.h"
#include "test.h"

#include "generate/family.h"
#include "ptxgen/ptxgen.h"

static void canonical_text_is_a_fixed_point(void **state)
{
    (void)state;
    const char *texts[] = {"",
                           "n=512",
                           "dtype=bf16 n=24 contig=no index=i32 oob=trap arch=sm_100a",
                           "schedule=seed n=dynamic",
                           "schedule=vector n=8",
                           "tile=1024 schedule=bulk stages=3 warps=2 n=100"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char once[1024], twice[1024];
        ptxgen_error err;
        assert_int_equal(ptxgen_canonical("scatter_add", texts[i], once, sizeof once, &err),
                         PTXGEN_OK);
        assert_int_equal(ptxgen_canonical("scatter_add", once, twice, sizeof twice, &err),
                         PTXGEN_OK);
        assert_string_equal(once, twice);
        assert_null(strstr(once, "schedule=auto"));
    }
}

static void every_parameter_changes_the_text(void **state)
{
    (void)state;
    char base[1024], other[1024];
    ptxgen_error err;
    const struct {
        const char *schedule, *change;
    } changes[] = {
        {"bulk", "arch=sm_100"},
        {"bulk", "dtype=f16"},
        {"bulk", "n=504"},
        {"bulk", "contig=no"},
        {"bulk", "index=i32"},
        {"bulk", "oob=trap"},
        {"bulk", "tile=1024"},
        {"bulk", "stages=3"},
        {"bulk", "warps=2"},
        {"bulk", "ctas=5"},
        {"vector", "pieces=2"},
        {"vector", "panel=512"},
        {"vector", "function=7"},
        {"vector", "hot=yes"},
        {"owner", "access=8"},
        {"owner", "reduce=min"},
        {"owner", "exact=yes"},
        {"owner", "weight=f32 dtype=bf16"},
        {"owner", "gather=yes"},
        {"owner", "ahead=yes"},
        {"owner", "shift=yes"},
        {"owner", "share=24"},
        {"private n=4", "copies=thread"},
        {"private n=4", "slices=2"},
    };
    assert_int_equal(ptxgen_family_param_count(0),
                     sizeof changes / sizeof *changes + 1 /* schedule */);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char text[96];
        snprintf(text, sizeof text, "schedule=%s", changes[i].schedule);
        assert_int_equal(ptxgen_canonical("scatter_add", text, base, sizeof base, &err), PTXGEN_OK);
        snprintf(text, sizeof text, "schedule=%s %s", changes[i].schedule, changes[i].change);
        assert_int_equal(ptxgen_canonical("scatter_add", text, other, sizeof other, &err),
                         PTXGEN_OK);
        assert_string_not_equal(base, other);
    }
}

/* A setting of one schedule is a choice of it. */
static void settings_choose_their_schedule(void **state)
{
    (void)state;
    const char *pairs[][2] = {
        {"tile=512", "schedule=bulk"},          {"panel=64", "schedule=vector"},
        {"hot=yes n=8", "schedule=vector"},     {"share=16", "schedule=owner"},
        {"ahead=yes", "schedule=owner"},        {"copies=cta n=4", "schedule=private"},
        {"hot=no ahead=no", "schedule=vector"}, {"copies=thread n=8 warps=4", "schedule=private"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[1024];
        ptxgen_error err;
        assert_int_equal(ptxgen_canonical("scatter_add", pairs[i][0], text, sizeof text, &err),
                         PTXGEN_OK);
        assert_non_null(strstr(text, pairs[i][1]));
    }
}

/* Settings that several schedules have count where one of these is taken. */
static bool is_advice(const char *params, const char *word)
{
    static const char *const shared[] = {"warps=", "ctas=", "pieces="};
    const char *schedule = strstr(params, "schedule=");
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (strncmp(word, shared[i], strlen(shared[i])) == 0)
            return !schedule || strncmp(schedule, "schedule=auto", 13) == 0;
    return false;
}

/* Of a canonical text: whether a word of the text that it was made of is kept, asked for nothing,
 * or is a fact of the operands. access=16 is what auto means where rows are whole accesses. */
static bool is_kept(const pg_param_table *t, const char *text, const char *word)
{
    char all[1100], wanted[100];
    const size_t name = strcspn(word, "=");
    const char *value = word + name + 1;
    for (size_t i = 0; i < t->count; i++)
        if (strlen(t->rows[i].name) == name && strncmp(t->rows[i].name, word, name) == 0 &&
            (t->rows[i].from != PG_FROM_DEFAULT || t->rows[i].kind == PG_PARAM_ARCH))
            return true;
    snprintf(all, sizeof all, " %s ", text);
    snprintf(wanted, sizeof wanted, " %s ", word);
    return strstr(all, wanted) || strcmp(value, "no") == 0 || strcmp(value, "auto") == 0 ||
           strcmp(word, "access=16") == 0;
}

static void no_parameter_is_dropped(void **state)
{
    enum { DRAWS = 2000 };
    size_t kept = 0;
    (void)state;
    for (size_t f = 0; pg_family_at(f); f++)
        for (uint64_t seed = 1; seed <= DRAWS; seed++) {
            const pg_family *family = pg_family_at(f);
            char params[1024], words[1024], text[1024], *rest = words;
            ptxgen_error err;
            draw_key(family, seed, params, sizeof params);
            if (ptxgen_canonical(family->name, params, text, sizeof text, &err) != PTXGEN_OK)
                continue;
            strcpy(words, params);
            for (char *word; (word = strtok_r(rest, " ", &rest)); kept++)
                if (!is_advice(params, word) && !is_kept(&family->params, text, word))
                    fail_msg("%s, seed %d: %s became %s", family->name, (int)seed, word, text);
        }
    assert_true(kept > DRAWS);
}

static void bad_texts_are_refused_with_the_remedy(void **state)
{
    (void)state;
    const struct {
        const char *text, *message;
        ptxgen_status status;
    } cases[] = {
        {"dtype=bf17", "f32, f16, bf16", PTXGEN_EINVAL},
        {"shedule=seed", "schedule", PTXGEN_EINVAL},
        {"n", "name=value", PTXGEN_EINVAL},
        {"n=", "dynamic", PTXGEN_EINVAL},
        {"n=0", "1 to 2147483648", PTXGEN_EINVAL},
        {"n=-4", "1 to 2147483648", PTXGEN_EINVAL},
        {"n=4 n=4", "twice", PTXGEN_EINVAL},
        {"n=99999999999999999999", "whole number", PTXGEN_EINVAL},
        {"arch=sm_70", "sm_80", PTXGEN_EINVAL},
        {"arch=sm_80 schedule=bulk", "sm_90", PTXGEN_EUNSUPPORTED},
        {"n=3 schedule=vector", "multiple of 16", PTXGEN_EUNSUPPORTED},
        {"dtype=bf16 n=12 schedule=seed", "divisible by 8", PTXGEN_EUNSUPPORTED},
        {"schedule=bulk exact=yes", "schedule=owner", PTXGEN_EUNSUPPORTED},
        {"schedule=vector dtype=f64", "schedule=owner", PTXGEN_EUNSUPPORTED},
        {"access=12", "power of two", PTXGEN_EUNSUPPORTED},
        {"reduce=max weight=f32", "reduce=add", PTXGEN_EUNSUPPORTED},
        {"dtype=s32 weight=f32", "element", PTXGEN_EUNSUPPORTED},
        {"schedule=owner pieces=3", "2, 4, 6 or 8", PTXGEN_EUNSUPPORTED},
        {"n=512 schedule=bulk tile=16384 stages=16", "shared memory", PTXGEN_EUNSUPPORTED},
        {"n=512 schedule=bulk tile=300", "use 288 or 304", PTXGEN_EUNSUPPORTED},
        {"n=512 panel=100", "use 96 or 112", PTXGEN_EUNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[1024] = "untouched";
        ptxgen_error err = {0};
        assert_int_equal(ptxgen_canonical("scatter_add", cases[i].text, out, sizeof out, &err),
                         cases[i].status);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_string_equal(out, "untouched");
    }
    ptxgen_error err = {0};
    char out[8];
    assert_int_equal(ptxgen_canonical("scater_add", "", out, sizeof out, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "scatter_add"));
}

static void arch_names_and_numbers_agree(void **state)
{
    (void)state;
    for (size_t i = 0; pg_arch_at(i); i++) {
        const pg_arch *a = pg_arch_at(i);
        ptxgen_arch id;
        assert_int_equal(ptxgen_arch_parse(a->name, &id, NULL), PTXGEN_OK);
        assert_int_equal(id, a->id);
        assert_int_equal(a->id, a->sm * 10 + (a->suffix == 'a' ? 1 : a->suffix == 'f' ? 2 : 0));
        assert_string_equal(ptxgen_arch_name(id), a->name);
    }
    assert_string_equal(ptxgen_arch_name(5), "sm_?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_text_is_a_fixed_point),
        cmocka_unit_test(every_parameter_changes_the_text),
        cmocka_unit_test(settings_choose_their_schedule),
        cmocka_unit_test(no_parameter_is_dropped),
        cmocka_unit_test(bad_texts_are_refused_with_the_remedy),
        cmocka_unit_test(arch_names_and_numbers_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
