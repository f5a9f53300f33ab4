#include "command/diff/opcodes.h"

#include "ptxgen/emulator.h"

#include <stdbool.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef enum opcode_class {
    GLOBAL,
    SHARED,
    LOCAL,
    OTHER_MEMORY,
    ASYNC,
    TENSOR,
    SYNC,
    FLOW,
    WARP,
    FLOAT,
    INTEGER,
    MOVE,
    OTHER,
    CLASSES
} opcode_class;

const char *opcode_class_name(size_t i)
{
    static const char *const names[CLASSES] = {[GLOBAL] = "global memory",
                                               [SHARED] = "shared memory",
                                               [LOCAL] = "local memory",
                                               [OTHER_MEMORY] = "other memory",
                                               [ASYNC] = "asynchronous copies",
                                               [TENSOR] = "tensor cores",
                                               [SYNC] = "barriers and fences",
                                               [FLOW] = "control flow",
                                               [WARP] = "warp",
                                               [FLOAT] = "floating point",
                                               [INTEGER] = "integers and bits",
                                               [MOVE] = "moves and conversions",
                                               [OTHER] = "other"};
    return i < CLASSES ? names[i] : NULL;
}

/* Beginnings of opcodes; the first row that fits decides. A word ends at its end ("bar" is not
 * "barrier"), unless a * follows. */
typedef struct class_row {
    opcode_class is;
    const char *begins; /* separated by spaces */
} class_row;

static const class_row ptx_classes[] = {
    {TENSOR, "mma wmma wgmma tcgen05"},
    {ASYNC, "cp st.async red.async st.bulk prefetch discard applypriority createpolicy "
            "clusterlaunchcontrol"},
    {GLOBAL, "ld.global ldu st.global atom.global red.global multimem"},
    {SHARED, "ld.shared st.shared atom.shared red.shared ldmatrix stmatrix"},
    {LOCAL, "ld.local st.local"},
    {OTHER_MEMORY, "ld st atom red tex txq tld4 suld sust sured suq tensormap"},
    {SYNC, "bar barrier fence membar mbarrier griddepcontrol"},
    {FLOW, "bra brx call ret exit trap brkpt nanosleep"},
    {WARP, "shfl vote match redux elect activemask"},
    {MOVE, "mov movmatrix cvt cvta selp slct prmt isspacep istypep mapa getctarank"},
    {FLOAT, "fma rcp sqrt rsqrt sin cos lg2 ex2 tanh copysign testp"},
    {INTEGER, "add addc sub subc mul mul24 mad mad24 madc div rem abs neg min max setp set and or "
              "xor not cnot lop3 shl shr shf bfe bfi bfind brev bmsk clz popc fns szext sad dp4a "
              "dp2a v*"},
};

static const class_row sass_classes[] = {
    {TENSOR, "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTC* WARPGROUP LDT* STT* "
             "LDTM STTM"},
    {ASYNC, "LDGSTS UBLK* UTMA* UTMACMDFLUSH CCTLL UCCTLL"},
    {GLOBAL, "LDG STG ATOMG REDG RED"},
    {SHARED, "LDS STS ATOMS LDSM STSM MOVM STAS REDAS"},
    {LOCAL, "LDL STL"},
    {OTHER_MEMORY, "LD ST ATOM LDC LDCU ULDC TEX TLD TLD4 TXQ SULD SUST SURED SUATOM"},
    {SYNC, "BAR MEMBAR ERRBAR SYNCS FENCE CCTL DEPBAR LDGDEPBAR WARPSYNC UCGABAR_* ARRIVES "
           "ACQBULK PREEXIT"},
    {FLOW, "BRA BRX BRXU JMP JMX CALL RET EXIT BSSY BSYNC BREAK BMOV KILL BPT YIELD NANOSLEEP "
           "WARPSYNC"},
    {WARP, "SHFL VOTE VOTEU MATCH REDUX CREDUX ELECT"},
    {MOVE, "MOV UMOV SEL USEL FSEL PRMT UPRMT I2F* F2I* F2F* I2I* F2FP S2R S2UR CS2R R2UR P2R R2P "
           "PLOP3 UPLOP3 USETMAXREG"},
    {FLOAT, "F* H* D* MUFU"},
    {INTEGER, "I* U* LOP* SHF SHL SHR LEA POPC FLO BREV BMSK SGXT VI* VABSDIFF*"},
};

static bool begins(const char *name, const char *words)
{
    for (const char *w = words; *w; w += strspn(w, " ")) {
        size_t n = strcspn(w, " ");
        const bool open = w[n - 1] == '*';
        const size_t compared = open ? n - 1 : n;
        if (strncmp(name, w, compared) == 0 &&
            (open || name[compared] == '\0' || name[compared] == '.'))
            return true;
        w += n;
    }
    return false;
}

static opcode_class class_of(const class_row *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (begins(name, rows[i].begins))
            return rows[i].is;
    return OTHER;
}

static void count_one(opcode_counts *c, const char *name, opcode_class is)
{
    size_t k = 0;
    while (k < c->kinds && strcmp(c->all[k].name, name) != 0)
        k++;
    c->instructions++;
    c->by_class[is]++;
    if (k == OPCODE_MOST)
        return;
    if (k == c->kinds)
        snprintf(c->all[c->kinds++].name, OPCODE_NAME, "%s", name);
    c->all[k].count++;
}

size_t opcode_count(const opcode_counts *c, const char *name)
{
    for (size_t k = 0; k < c->kinds; k++)
        if (strcmp(c->all[k].name, name) == 0)
            return c->all[k].count;
    return 0;
}

/* ---- PTX ---- */

/* The next that is neither space nor comment. */
static const char *skip_space(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\r\n");
        if (strncmp(p, "//", 2) == 0) {
            p += strcspn(p, "\n");
        } else if (strncmp(p, "/*", 2) == 0) {
            const char *end = strstr(p + 2, "*/");
            p = end ? end + 2 : p + strlen(p);
        } else {
            return p;
        }
    }
}

/* The end of a statement: after its semicolon. */
static const char *skip_statement(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        if (strncmp(p, "//", 2) == 0 || strncmp(p, "/*", 2) == 0) {
            p = skip_space(p);
            if (!*p)
                return p;
        }
        if (*p == '"')
            p += 1 + strcspn(p + 1, "\"");
        if (!*p)
            return p;
        depth += (*p == '{') - (*p == '}');
        if (*p == ';' && depth <= 0)
            return p + 1;
    }
    return p;
}

/* "ld.global.v4.f32" is ld.global, "cp.async.bulk.shared::cluster..." the longest mnemonic that it
 * begins with. */
static void name_ptx(const char *word, size_t n, char *name)
{
    ptxgen_emulator_instruction form;
    size_t longest = strcspn(word, ". \t");
    longest = longest < n ? longest : n;
    for (size_t i = 0; ptxgen_emulator_get_instruction(i, &form); i++) {
        const size_t m = strlen(form.mnemonic);
        if (m > longest && m <= n && strncmp(word, form.mnemonic, m) == 0 &&
            (m == n || word[m] == '.'))
            longest = m;
    }
    snprintf(name, OPCODE_NAME, "%.*s", (int)(longest < OPCODE_NAME ? longest : OPCODE_NAME - 1),
             word);
    static const char *const spaces[] = {".global", ".shared", ".local", ".param", ".const"};
    const bool moves = begins(name, "ld st atom red") && !strchr(name, '.');
    for (size_t i = 0; moves && i < sizeof spaces / sizeof *spaces; i++) {
        const size_t m = strlen(spaces[i]);
        for (const char *at = word; at + m <= word + n; at++)
            if (strncmp(at, spaces[i], m) == 0 && strlen(name) + m < OPCODE_NAME) {
                memcpy(name + strlen(name), spaces[i], m + 1);
                return;
            }
    }
}

static bool of_float(const char *word, size_t n)
{
    static const char *const types[] = {".f16", ".bf16", ".f32", ".f64"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (const char *at = word; at + strlen(types[i]) <= word + n; at++)
            if (strncmp(at, types[i], strlen(types[i])) == 0)
                return true;
    return false;
}

void opcodes_of_ptx(const char *text, opcode_counts *out)
{
    memset(out, 0, sizeof *out);
    for (const char *p = skip_space(text); *p; p = skip_space(p)) {
        char name[OPCODE_NAME];
        if (*p == '{' || *p == '}' || *p == ';' || *p == '(' || *p == ')') {
            p++;
            continue;
        }
        if (*p == '@')
            p = skip_space(p + strcspn(p, " \t\r\n"));
        const size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "._:%$");
        if (*p == '.') { /* a directive; what its braces hold is read like the rest */
            p += strcspn(p, ";{=\n\"");
            if (*p == '=') /* an initializer */
                p = skip_statement(p);
            else if (*p == '"')
                p += 1 + strcspn(p + 1, "\"\n");
            p += *p == '"';
            continue;
        }
        if (n == 0) {
            p++;
            continue;
        }
        if (p[n - 1] == ':') { /* a label */
            p += n;
            continue;
        }
        name_ptx(p, n, name);
        opcode_class is = class_of(ptx_classes, sizeof ptx_classes / sizeof *ptx_classes, name);
        if (is == INTEGER && of_float(p, n))
            is = FLOAT;
        count_one(out, name, is);
        p = skip_statement(p);
    }
}

/* ---- SASS ---- */

/* A line is an address in a comment, maybe a guard, the opcode, operands, a semicolon, and maybe
 * an encoding in a comment. */
void opcodes_of_sass(const char *text, opcode_counts *out)
{
    memset(out, 0, sizeof *out);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *p = line + strspn(line, " \t");
        char name[OPCODE_NAME];
        if (strncmp(p, "/*", 2) != 0 || !isxdigit((unsigned char)p[2]))
            continue;
        const size_t length = strcspn(line, "\n");
        const char *end = strstr(p, "*/");
        if (!end || end > line + length || !memchr(line, ';', length))
            continue;
        p = end + 2;
        p += strspn(p, " \t{");
        if (*p == '@') {
            p += strcspn(p, " \t\n");
            p += strspn(p, " \t");
        }
        const int n = (int)strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        if (n == 0)
            continue;
        snprintf(name, sizeof name, "%.*s", n < OPCODE_NAME ? n : OPCODE_NAME - 1, p);
        if (strcmp(name, "NOP") != 0) /* what fills the end */
            count_one(out, name,
                      class_of(sass_classes, sizeof sass_classes / sizeof *sass_classes, name));
    }
}
