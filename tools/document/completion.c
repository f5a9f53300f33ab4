/* Completions for bash, zsh and fish: subcommands, their options and the words of these,
 * families, their parameters and the words of those. All is in the file; nothing of ptxgen runs
 * when a key is pressed. */
#include "document/document.h"

#include <string.h>

static const cli_command *command(size_t i)
{
    return cli_command_at(i);
}

static bool names_family(const cli_command *c)
{
    return c->takes_family || strstr(c->usage, "FAMILY");
}

/* Words of a parameter, NULL-terminated; NULL when it has none. */
static const char *const *param_words(size_t family, size_t param, ptxgen_param_info *out)
{
    return ptxgen_family_param(family, param, out) ? out->choices : NULL;
}

/* name= of each parameter. */
static void list_params(FILE *f, size_t family)
{
    ptxgen_param_info p;
    for (size_t k = 0; ptxgen_family_param(family, k, &p); k++)
        fprintf(f, "%s%s=", k ? " " : "", p.name);
}

static void list_words(FILE *f, const char *const *words)
{
    for (size_t i = 0; words && words[i]; i++)
        fprintf(f, "%s%s", i ? " " : "", words[i]);
}

/* ---- bash ---- */

static void bash_options(FILE *f)
{
    cli_option_info o;
    fputs("    case $sub in\n", f);
    for (size_t i = 0; command(i); i++) {
        fprintf(f, "    %s) options='", command(i)->name);
        for (size_t k = 0; cli_option_at(command(i), k, &o); k++)
            fprintf(f, "%s--%s", k ? " " : "", o.name);
        fprintf(f, "' takes_family=%d ;;\n", names_family(command(i)));
    }
    fputs("    esac\n", f);
}

/* The words of an option are the same in every subcommand. */
static void option_values(FILE *f, const char *format,
                          void (*put)(FILE *, const char *, const cli_option_info *))
{
    char seen[1024] = " ";
    cli_option_info o;
    for (size_t i = 0; command(i); i++)
        for (size_t k = 0; cli_option_at(command(i), k, &o); k++) {
            char name[64];
            snprintf(name, sizeof name, " %s ", o.name);
            if (!o.words || strstr(seen, name) || strlen(seen) + strlen(name) > sizeof seen)
                continue;
            strcat(seen, name + 1);
            put(f, format, &o);
        }
}

static void bash_value(FILE *f, const char *format, const cli_option_info *o)
{
    fprintf(f, format, o->name);
    list_words(f, o->words);
    fputs("' ;;\n", f);
}

static void bash_params(FILE *f)
{
    ptxgen_param_info p;
    fputs("    case $family in\n", f);
    for (size_t i = 0; i < ptxgen_family_count(); i++) {
        fprintf(f, "    %s) params='", ptxgen_family_name(i));
        list_params(f, i);
        fputs("' ;;\n", f);
    }
    fputs("    esac\n    case $family:$name in\n", f);
    for (size_t i = 0; i < ptxgen_family_count(); i++)
        for (size_t k = 0; ptxgen_family_param(i, k, &p); k++)
            if (param_words(i, k, &p)) {
                fprintf(f, "    %s:%s) values='", ptxgen_family_name(i), p.name);
                list_words(f, p.choices);
                fputs("' ;;\n", f);
            }
    fputs("    esac\n", f);
}

static void list_families(FILE *f)
{
    for (size_t i = 0; i < ptxgen_family_count(); i++)
        fprintf(f, "%s%s", i ? " " : "", ptxgen_family_name(i));
}

/* "name=value" comes in three words, since = breaks words. */
static const char bash_head[] =
    "# Completion of ptxgen for bash, written by its build.\n"
    "_ptxgen() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} "
    "sub=${COMP_WORDS[1]}\n"
    "    local options='' takes_family=0 family='' params='' values='' name='' i\n"
    "    COMPREPLY=()\n";
static const char bash_tail[] =
    "    if [[ -n $name ]]; then\n"
    "        [[ -z $values ]] || COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
    "        [[ -n $values ]] || COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
    "    elif [[ -n $family ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$params\" -- \"$cur\"))\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    else\n"
    "        [[ $takes_family == 0 ]] || COMPREPLY=($(compgen -W \"$families\" -- \"$cur\"))\n"
    "        COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
    "    fi\n"
    "}\n"
    "complete -F _ptxgen ptxgen\n";

void document_bash(const char *folder)
{
    FILE *f = document_open(folder, "%s.bash", "ptxgen");
    fputs(bash_head, f);
    fputs("    local families='", f);
    list_families(f);
    fputs("'\n    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W '", f);
    for (size_t i = 0; command(i); i++)
        fprintf(f, "%s ", command(i)->name);
    fputs("--help --version' -- \"$cur\"))\n        return\n    fi\n", f);
    bash_options(f);
    fputs("    case $prev in\n", f);
    option_values(f, "    --%s) values='", bash_value);
    fputs("    esac\n"
          "    if [[ -n $values ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
          "        return\n    fi\n"
          "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "        [[ \" $families \" != *\" ${COMP_WORDS[i]} \"* ]] || family=${COMP_WORDS[i]}\n"
          "    done\n"
          "    [[ $prev != = ]] || name=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    if [[ $cur == = ]]; then name=$prev cur=''; fi\n",
          f);
    bash_params(f);
    fputs(bash_tail, f);
    document_close(f);
}

/* ---- zsh ---- */

/* Between single quotes, in a list of "word:what it is". */
static void put_zsh(FILE *f, const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p == '\'')
            fputs("'\\''", f);
        else if (strchr(":[]\\", *p))
            fprintf(f, "\\%c", *p);
        else
            fputc(*p, f);
}

static void zsh_pair(FILE *f, const char *word, const char *what)
{
    fputs("        '", f);
    put_zsh(f, word);
    fputc(':', f);
    put_zsh(f, what);
    fputs("'\n", f);
}

static void zsh_options(FILE *f)
{
    char word[80];
    cli_option_info o;
    fputs("    case $words[2] in\n", f);
    for (size_t i = 0; command(i); i++) {
        fprintf(f, "    %s) takes_family=%d options=(\n", command(i)->name,
                names_family(command(i)));
        for (size_t k = 0; cli_option_at(command(i), k, &o); k++) {
            snprintf(word, sizeof word, "--%s", o.name);
            zsh_pair(f, word, o.doc);
        }
        fputs("    ) ;;\n", f);
    }
    fputs("    esac\n", f);
}

static void zsh_value(FILE *f, const char *format, const cli_option_info *o)
{
    fprintf(f, format, o->name);
    list_words(f, o->words);
    fputs("; return ;;\n", f);
}

static void zsh_params(FILE *f)
{
    ptxgen_param_info p;
    fputs("    case $family in\n", f);
    for (size_t i = 0; i < ptxgen_family_count(); i++) {
        fprintf(f, "    %s) params=(", ptxgen_family_name(i));
        list_params(f, i);
        fputs(") ;;\n", f);
    }
    fputs("    esac\n    case $family:${PREFIX%%=*} in\n", f);
    for (size_t i = 0; i < ptxgen_family_count(); i++)
        for (size_t k = 0; ptxgen_family_param(i, k, &p); k++)
            if (param_words(i, k, &p)) {
                fprintf(f, "    %s:%s) values=(", ptxgen_family_name(i), p.name);
                list_words(f, p.choices);
                fputs(") ;;\n", f);
            }
    fputs("    esac\n", f);
}

void document_zsh(const char *folder)
{
    FILE *f = document_open(folder, "%s", "_ptxgen");
    fputs("#compdef ptxgen\n# Completion of ptxgen for zsh, written by its build.\n_ptxgen() {\n"
          "    local family='' takes_family=0 word\n    local -a options params values commands "
          "families\n    commands=(\n",
          f);
    for (size_t i = 0; command(i); i++)
        zsh_pair(f, command(i)->name, command(i)->summary);
    fputs("    )\n    families=(\n", f);
    for (size_t i = 0; i < ptxgen_family_count(); i++)
        zsh_pair(f, ptxgen_family_name(i), ptxgen_family_summary(i));
    fputs("    )\n    if ((CURRENT == 2)); then\n        _describe subcommand commands\n        "
          "return\n    fi\n",
          f);
    zsh_options(f);
    fputs("    case $words[CURRENT-1] in\n", f);
    option_values(f, "    --%s) compadd -- ", zsh_value);
    fputs("    esac\n    for word in ${words[3,CURRENT-1]}; do\n"
          "        [[ -z ${(M)families:#${word}:*} ]] || family=$word\n    done\n",
          f);
    zsh_params(f);
    fputs("    if [[ $PREFIX == -* ]]; then\n        _describe option options\n"
          "    elif [[ $PREFIX == *=* ]]; then\n        compset -P '*='\n"
          "        if ((${#values})); then compadd -- $values; else _files; fi\n"
          "    elif [[ -n $family ]]; then\n        compadd -S '' -- $params\n"
          "    else\n        ((takes_family)) && _describe family families\n        _files\n    "
          "fi\n}\n_ptxgen \"$@\"\n",
          f);
    document_close(f);
}

/* ---- fish ---- */

static void put_fish(FILE *f, const char *text)
{
    fputc('\'', f);
    for (const char *p = text; *p; p++) {
        if (*p == '\'' || *p == '\\')
            fputc('\\', f);
        fputc(*p, f);
    }
    fputc('\'', f);
}

static void fish_option(FILE *f, const cli_command *c, const cli_option_info *o)
{
    fprintf(f, "complete -c ptxgen -n '__fish_seen_subcommand_from %s' -l %s", c->name, o->name);
    if (o->letter)
        fprintf(f, " -s %c", o->letter);
    if (o->words) {
        fputs(" -x -a '", f);
        list_words(f, o->words);
        fputc('\'', f);
    } else if (o->value) {
        fputs(" -r", f);
    }
    fputs(" -d ", f);
    put_fish(f, o->doc);
    fputc('\n', f);
}

static void fish_param(FILE *f, const char *family, const ptxgen_param_info *p)
{
    fprintf(f, "complete -c ptxgen -n '__fish_seen_subcommand_from %s' -a '", family);
    if (!p->choices)
        fprintf(f, "%s=", p->name);
    for (size_t i = 0; p->choices && p->choices[i]; i++)
        fprintf(f, "%s%s=%s", i ? " " : "", p->name, p->choices[i]);
    fputs("' -d ", f);
    put_fish(f, p->doc);
    fputc('\n', f);
}

void document_fish(const char *folder)
{
    FILE *f = document_open(folder, "%s.fish", "ptxgen");
    cli_option_info o;
    ptxgen_param_info p;
    fputs("# Completion of ptxgen for fish, written by its build.\n", f);
    for (size_t i = 0; command(i); i++) {
        fprintf(f, "complete -c ptxgen -f -n __fish_use_subcommand -a %s -d ", command(i)->name);
        put_fish(f, command(i)->summary);
        fputc('\n', f);
        for (size_t k = 0; cli_option_at(command(i), k, &o); k++)
            fish_option(f, command(i), &o);
        for (size_t k = 0; names_family(command(i)) && k < ptxgen_family_count(); k++) {
            fprintf(f, "complete -c ptxgen -n '__fish_seen_subcommand_from %s' -a %s -d ",
                    command(i)->name, ptxgen_family_name(k));
            put_fish(f, ptxgen_family_summary(k));
            fputc('\n', f);
        }
    }
    for (size_t i = 0; i < ptxgen_family_count(); i++)
        for (size_t k = 0; ptxgen_family_param(i, k, &p); k++)
            fish_param(f, ptxgen_family_name(i), &p);
    document_close(f);
}
