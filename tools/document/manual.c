/* Manual pages, in the man macros of groff. The same text every time: no date is in it. */
#include "document/document.h"

#include <ctype.h>
#include <string.h>

/* Text with what groff would take for a request or an escape made harmless. */
static void put(FILE *f, const char *text)
{
    bool begins = true;
    for (const char *p = text; *p; p++) {
        if (begins && (*p == '.' || *p == '\''))
            fputs("\\&", f);
        if (*p == '\\')
            fputs("\\e", f);
        else if (*p == '-')
            fputs("\\-", f);
        else if (*p == '`' || *p == '\'')
            fputs(*p == '`' ? "\\(ga" : "\\(aq", f);
        else
            fputc(*p, f);
        begins = *p == '\n';
    }
}

/* Lines as they are. */
static void put_lines(FILE *f, const char *text)
{
    fputs(".nf\n", f);
    put(f, text);
    if (*text && text[strlen(text) - 1] != '\n')
        fputc('\n', f);
    fputs(".fi\n", f);
}

static void begin(FILE *f, const char *title, const char *name, const char *summary)
{
    fprintf(f, ".TH %s 1 \"\" \"ptxgen %s\" \"User Commands\"\n.SH NAME\n", title,
            ptxgen_version());
    put(f, name);
    fputs(" \\- ", f);
    put(f, summary);
    fputs("\n.SH SYNOPSIS\n", f);
}

static void put_exit_codes(FILE *f)
{
    fputs(".SH EXIT STATUS\n", f);
    for (size_t i = 0; cli_exit_text(i); i++) {
        fprintf(f, ".TP\n.B %zu\n", i);
        put(f, cli_exit_text(i));
        fputc('\n', f);
    }
}

static void put_option(FILE *f, const cli_option_info *o)
{
    fputs(".TP\n", f);
    if (o->letter)
        fprintf(f, "\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", f);
    put(f, o->name);
    fputs("\\fR", f);
    if (o->value)
        fprintf(f, " \\fI%s\\fR", o->value);
    for (size_t i = 0; o->words && o->words[i]; i++)
        fprintf(f, "%s%s", i ? "|" : " ", o->words[i]);
    fputc('\n', f);
    put(f, o->doc);
    fputc('\n', f);
}

static void put_families(FILE *f)
{
    fputs(".SH FAMILIES\n", f);
    for (size_t i = 0; i < ptxgen_family_count(); i++) {
        fprintf(f, ".TP\n.B %s\n", ptxgen_family_name(i));
        put(f, ptxgen_family_summary(i));
        fputc('\n', f);
    }
    fputs("Their parameters: \\fBptxgen list\\fR \\fIFAMILY\\fR.\n", f);
}

static void write_page(const char *folder, const cli_command *c)
{
    char name[64], title[64];
    cli_option_info o;
    snprintf(name, sizeof name, "ptxgen-%s", c->name);
    snprintf(title, sizeof title, "PTXGEN-%s", c->name);
    for (char *p = title; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    FILE *f = document_open(folder, "%s.1", name);
    begin(f, title, name, c->summary);
    fprintf(f, ".B ptxgen %s\n", c->name);
    put(f, c->usage);
    fputs("\n.SH DESCRIPTION\n", f);
    put_lines(f, c->text);
    fputs(".SH OPTIONS\n", f);
    for (size_t i = 0; cli_option_at(c, i, &o); i++)
        put_option(f, &o);
    if (c->takes_family || strstr(c->usage, "FAMILY"))
        put_families(f);
    put_exit_codes(f);
    if (c->examples && *c->examples) {
        fputs(".SH EXAMPLES\n", f);
        put_lines(f, c->examples);
    }
    fputs(".SH SEE ALSO\n.BR ptxgen (1)\n", f);
    document_close(f);
}

void document_manual(const char *folder)
{
    FILE *f = document_open(folder, "%s.1", "ptxgen");
    begin(f, "PTXGEN", "ptxgen", "GPU kernels specialized for one problem");
    fputs(".B ptxgen\n.I subcommand\n[\\fIfamily\\fR] [\\fIname\\fR=\\fIvalue\\fR ...] "
          "[\\fIoptions\\fR]\n",
          f);
    fputs(".SH DESCRIPTION\n", f);
    put(f, cli_purpose);
    fputs("\n.SH SUBCOMMANDS\n", f);
    for (size_t i = 0; cli_command_at(i); i++) {
        fprintf(f, ".TP\n.BR ptxgen\\-%s (1)\n", cli_command_at(i)->name);
        put(f, cli_command_at(i)->summary);
        fputc('\n', f);
    }
    put_families(f);
    put_exit_codes(f);
    fputs(".SH ENVIRONMENT\n", f);
    put(f, cli_environment);
    fputs(".SH FILES\n.TP\n.I ~/.cache/ptxgen\nThe cache, unless PTXGEN_CACHE_DIR or "
          "XDG_CACHE_HOME say otherwise.\n"
          ".TP\n.I ~/.config/ptxgen/config.json, /etc/ptxgen/config.json\nSettings: \\fBptxgen "
          "doctor\\fR shows "
          "them.\n",
          f);
    document_close(f);
    for (size_t i = 0; cli_command_at(i); i++)
        write_page(folder, cli_command_at(i));
}
