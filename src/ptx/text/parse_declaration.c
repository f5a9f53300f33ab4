/* Variables, registers, parameters, call prototypes (PTX ISA chapter 5). */
#include "ptx/text/parser.h"

#include "ptx/table/vocabulary.h"

enum { MAX_ALIGN = 1 << 16 };
static const uint64_t largest_variable = (uint64_t)1 << 48;

pg_ptx_space pg_space_of(pg_str word)
{
    static const struct {
        const char *word;
        pg_ptx_space space;
    } spaces[] = {
        {"global", PG_SPACE_GLOBAL},      {"const", PG_SPACE_CONST}, {"local", PG_SPACE_LOCAL},
        {"shared", PG_SPACE_SHARED},      {"param", PG_SPACE_PARAM}, {"reg", PG_SPACE_REG},
        {"shared::cta", PG_SPACE_SHARED},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (pg_str_is(word, spaces[i].word))
            return spaces[i].space;
    return PG_SPACE_NONE;
}

static uint32_t vector_of(pg_str word)
{
    return pg_str_is(word, "v2") ? 2 : pg_str_is(word, "v4") ? 4 : pg_str_is(word, "v8") ? 8 : 0;
}

/* Types of memory; registers may be predicates as well. */
static bool is_declarable(pg_ptx_type type)
{
    switch (type) {
    case PG_T_B8:
    case PG_T_B16:
    case PG_T_B32:
    case PG_T_B64:
    case PG_T_B128:
    case PG_T_U8:
    case PG_T_U16:
    case PG_T_U32:
    case PG_T_U64:
    case PG_T_S8:
    case PG_T_S16:
    case PG_T_S32:
    case PG_T_S64:
    case PG_T_F16:
    case PG_T_F16X2:
    case PG_T_F32:
    case PG_T_F64:
    case PG_T_TEXREF:
    case PG_T_SAMPLERREF:
    case PG_T_SURFREF:
        return true;
    default:
        return false;
    }
}

static bool parse_type(pg_parser *p, pg_ptx_space space, pg_ptx_type *type)
{
    if (p->token.kind != PG_TOKEN_SUFFIX)
        return pg_parser_unexpected(p, "a type");
    *type = pg_form_find_type(p->token.text);
    if (*type == PG_T_PRED && space == PG_SPACE_REG) {
        pg_parser_advance(p);
        return true;
    }
    if (*type == PG_T_NONE)
        return pg_parser_unexpected(p, "a type");
    if (!is_declarable(*type))
        return pg_parser_error(p, "nothing can be declared with type .%s: use .b%u",
                               pg_type_table[*type].spelling, pg_type_table[*type].bits);
    pg_parser_advance(p);
    return true;
}

static bool parse_align(pg_parser *p, uint32_t *align)
{
    pg_token at = p->token;
    uint64_t v;
    if (!pg_parser_uint(p, MAX_ALIGN, &v))
        return false;
    if (!v || v & (v - 1))
        return pg_parser_error_at(p, at.line, at.column, "alignment %llu is not a power of two",
                                  (unsigned long long)v);
    *align = (uint32_t)v;
    return true;
}

/* ".attribute(.managed, .unified(1, 2))" from behind the word. */
bool pg_parse_attribute(pg_parser *p, bool *managed)
{
    unsigned depth = 0;
    if (!pg_parser_at(p, '('))
        return pg_parser_unexpected(p, "'('");
    do {
        *managed |= pg_parser_at_suffix(p, "managed");
        if (pg_parser_at(p, '('))
            depth++;
        else if (pg_parser_at(p, ')'))
            depth--;
        pg_parser_advance(p);
    } while (depth && p->token.kind != PG_TOKEN_END);
    return depth == 0 || pg_parser_unexpected(p, "')'");
}

/* ".ptr .global .align 16": of a kernel parameter. */
static bool parse_pointer(pg_parser *p, pg_var_head *head)
{
    head->is_pointer = true;
    while (p->token.kind == PG_TOKEN_SUFFIX) {
        pg_ptx_space space = pg_space_of(p->token.text);
        if (space != PG_SPACE_NONE && space != PG_SPACE_REG) {
            head->pointer_space = space;
            pg_parser_advance(p);
        } else if (pg_parser_accept_suffix(p, "align")) {
            if (!parse_align(p, &head->pointer_align))
                return false;
        } else {
            break;
        }
    }
    return true;
}

/* ".align 4 .v2 .f32 .ptr .global", in any order that has the type. */
static bool parse_head(pg_parser *p, pg_var_head *head)
{
    head->vector = 1;
    while (p->token.kind == PG_TOKEN_SUFFIX) {
        if (pg_parser_accept_suffix(p, "align")) {
            if (!parse_align(p, &head->align))
                return false;
            head->align_declared = true;
        } else if (pg_parser_accept_suffix(p, "attribute")) {
            if (!pg_parse_attribute(p, &head->managed))
                return false;
        } else if (head->role == PG_ROLE_PARAM && pg_parser_accept_suffix(p, "ptr")) {
            if (!parse_pointer(p, head))
                return false;
        } else if (vector_of(p->token.text)) {
            head->vector = vector_of(p->token.text);
            pg_parser_advance(p);
        } else if (head->type != PG_T_NONE) {
            return pg_parser_unexpected(p, "a name");
        } else if (!parse_type(p, head->space, &head->type)) {
            return false;
        }
    }
    return head->type != PG_T_NONE || pg_parser_unexpected(p, "a type");
}

/* "[4][2]" and "[]". Fills is_array, dims, size. */
static bool parse_dims(pg_parser *p, pg_ptx_var *var)
{
    uint64_t dims[PG_MAX_DIMS];
    uint64_t size = pg_type_table[var->type].bits / 8u * var->vector;
    while (pg_parser_at(p, '[')) {
        pg_token at = p->token;
        pg_parser_advance(p);
        if (var->n_dims == PG_MAX_DIMS)
            return pg_parser_error(p, "an array of more than %d dimensions", PG_MAX_DIMS);
        uint64_t n = 0;
        if (!pg_parser_at(p, ']') && !pg_parser_uint(p, largest_variable, &n))
            return false;
        if (!n && var->n_dims)
            return pg_parser_error_at(p, at.line, at.column,
                                      "only the first dimension may be open");
        if (n && size > largest_variable / n)
            return pg_parser_error_at(p, at.line, at.column, "an array of more than 2^48 bytes");
        dims[var->n_dims++] = n;
        size *= n;
        if (!pg_parser_expect(p, ']'))
            return false;
    }
    var->size = size;
    var->is_array = var->n_dims > 0;
    if (var->n_dims) {
        uint64_t *copy = pg_parser_alloc(p, var->n_dims, sizeof *copy);
        for (uint32_t i = 0; copy && i < var->n_dims; i++)
            copy[i] = dims[i];
        var->dims = copy;
    }
    return p->fatal == PTXGEN_OK;
}

static uint32_t natural_align(pg_ptx_type type, uint32_t vector)
{
    return pg_type_table[type].bits / 8u * vector;
}

static pg_ptx_var make_var(const pg_var_head *head, uint32_t function, const pg_token *at)
{
    return (pg_ptx_var){
        .space = (uint8_t)head->space,
        .role = (uint8_t)head->role,
        .linkage = (uint8_t)head->linkage,
        .type = (uint8_t)head->type,
        .vector = (uint8_t)head->vector,
        .is_pointer = head->is_pointer,
        .pointer_space = (uint8_t)head->pointer_space,
        .pointer_align = head->pointer_align,
        .managed = head->managed,
        .align = head->align_declared ? head->align : natural_align(head->type, head->vector),
        .align_declared = head->align_declared,
        .function = function,
        .reg = PG_PTX_NO_REG,
        .line = at->line,
        .column = at->column,
    };
}

/* ---- variables ---- */

/* A second declaration at module scope: fine if one of them is .extern and they agree. */
static bool redeclare(pg_parser *p, const pg_binding *b, pg_ptx_var *var, const pg_token *at)
{
    pg_ptx_var *first = b->kind == PG_BIND_VAR ? PG_LIST_AT(&p->vars, pg_ptx_var, b->index) : NULL;
    bool both = first && first->linkage != PG_LINKAGE_EXTERN && var->linkage != PG_LINKAGE_EXTERN;
    if (!first || both || first->space != var->space)
        return pg_parser_error_at(p, at->line, at->column, "'%s' is declared twice: see line %u",
                                  var->name, b->line);
    if (var->linkage != PG_LINKAGE_EXTERN) {
        PG_LIST_AT(&p->items, pg_ptx_item, first->item)->is_declaration = true;
        *first = *var;
        first->item = pg_add_item(p, PG_ITEM_VAR, b->index);
    }
    return true;
}

static bool add_module_var(pg_parser *p, pg_ptx_var *var, pg_str name, const pg_token *at)
{
    uint32_t index;
    var->name = pg_parser_copy(p, name);
    if (!var->name)
        return false;
    const pg_binding *b = pg_names_find(&p->names, name, &index);
    if (b)
        return redeclare(p, b, var, at);
    index = p->vars.count;
    var->item = pg_add_item(p, PG_ITEM_VAR, index);
    *(pg_ptx_var *)pg_list_add(p, &p->vars) = *var;
    return pg_parser_declare(p, name, at, (pg_binding){.kind = PG_BIND_VAR, .index = index});
}

static bool add_function_var(pg_parser *p, pg_ptx_var *var, pg_str name, const pg_token *at)
{
    uint32_t index = p->vars.count;
    const pg_binding binding = {.kind = PG_BIND_VAR, .index = index};
    if (!pg_parser_declare(p, name, at, binding))
        return false;
    const pg_unique_name what = {.is_parameter = var->role != PG_ROLE_LOCAL};
    var->name = pg_names_unique(&p->names, p->arena, name, &what);
    if (!var->name)
        pg_parser_stop(p, PTXGEN_ENOMEM);
    *(pg_ptx_var *)pg_list_add(p, &p->vars) = *var;
    if (var->role == PG_ROLE_LOCAL)
        *(uint32_t *)pg_list_add(p, &p->fn.locals) = index;
    return p->fatal == PTXGEN_OK;
}

static bool parse_variable(pg_parser *p, const pg_var_head *head)
{
    pg_token at = p->token;
    pg_str name;
    bool in_function = p->names.depth > 0;
    if (!pg_parser_name(p, &name))
        return false;
    pg_ptx_var var = make_var(head, in_function ? p->fn.index : PG_MODULE_SCOPE, &at);
    if (in_function)
        var.role = PG_ROLE_LOCAL;
    if (!parse_dims(p, &var))
        return false;
    /* Known before its own initialiser: a variable may hold its own address. */
    uint32_t index = p->vars.count;
    if (!(in_function ? add_function_var : add_module_var)(p, &var, name, &at))
        return false;
    if (!pg_parser_accept(p, '='))
        return true;
    if (index == p->vars.count) { /* a redeclaration */
        const pg_binding *b = pg_names_find(&p->names, name, &index);
        if (!b || b->kind != PG_BIND_VAR)
            return false;
    }
    if (head->space != PG_SPACE_GLOBAL && head->space != PG_SPACE_CONST)
        return pg_parser_error(p, "only .global and .const variables can be initialised");
    var = *PG_LIST_AT(&p->vars, pg_ptx_var, index);
    bool ok = pg_parse_initializer(p, &var);
    *PG_LIST_AT(&p->vars, pg_ptx_var, index) = var;
    return ok;
}

bool pg_parse_variables(pg_parser *p, pg_ptx_space space, pg_ptx_linkage linkage)
{
    pg_var_head head = {.space = space, .linkage = linkage};
    const uint32_t first = p->vars.count;
    if (!parse_head(p, &head))
        return false;
    do {
        if (!parse_variable(p, &head))
            return false;
    } while (pg_parser_accept(p, ','));
    for (uint32_t i = first; i < p->vars.count; i++)
        PG_LIST_AT(&p->vars, pg_ptx_var, i)->span = pg_parser_span(p);
    return pg_parser_expect(p, ';');
}

/* ---- registers ---- */

uint32_t pg_add_registers(pg_parser *p, const pg_ptx_reg_decl *decl)
{
    uint32_t first = p->fn.reg_types.count;
    uint64_t n = (uint64_t)decl->count * decl->vector;
    if (n > p->options.max_registers - first ||
        n > 16ull * p->options.max_registers - p->n_registers) {
        pg_parser_error(p, "more than %u registers in a function, or 16 times that in a module",
                        p->options.max_registers);
        pg_parser_stop(p, PTXGEN_EBUDGET);
        return 0;
    }
    p->n_registers += (uint32_t)n;
    for (uint64_t i = 0; i < n && p->fatal == PTXGEN_OK; i++)
        *(uint8_t *)pg_list_add(p, &p->fn.reg_types) = decl->type;
    pg_ptx_reg_decl *d = pg_list_add(p, &p->fn.reg_decls);
    *d = *decl;
    d->first = first;
    return first;
}

/* Whether `name` is a special register or the part before its ".x". */
static bool is_special_name(pg_str name)
{
    for (int s = 0; name.p[0] == '%' && s < PG_PTX_SPECIAL_COUNT; s++) {
        pg_str special = pg_str_of(pg_ptx_special_name((pg_ptx_special)s));
        if (special.n > 2 && special.p[special.n - 2] == '.')
            special.n -= 2;
        if (pg_str_eq(special, name))
            return true;
    }
    return false;
}

static bool parse_register(pg_parser *p, pg_ptx_type type, uint32_t vector)
{
    pg_token at = p->token;
    pg_str name;
    uint64_t count = 1;
    bool is_range = false;
    if (!pg_parser_name(p, &name))
        return false;
    if (is_special_name(name))
        return pg_parser_error_at(
            p, at.line, at.column,
            "'%.*s' is the name of a special register, which this declaration "
            "would hide: choose another name",
            (int)name.n, name.p);
    if (pg_parser_accept(p, '<')) {
        /* Not a constant expression: '>' ends it. */
        is_range = true;
        if (p->token.kind != PG_TOKEN_INT)
            return pg_parser_unexpected(p, "a number of registers");
        count = p->token.value;
        pg_parser_advance(p);
        if (!pg_parser_expect(p, '>'))
            return false;
        if (count > p->options.max_registers)
            count = (uint64_t)p->options.max_registers + 1; /* refused by pg_add_registers */
    }
    const pg_binding binding = {.kind = PG_BIND_REG,
                                .index = p->fn.reg_types.count,
                                .is_range = is_range,
                                .count = (uint32_t)count,
                                .vector = vector};
    const pg_unique_name what = {.is_range = is_range, .count = (uint32_t)count};
    if (!pg_parser_declare(p, name, &at, binding))
        return false;
    pg_ptx_reg_decl decl = {.name = pg_names_unique(&p->names, p->arena, name, &what),
                            .type = (uint8_t)type,
                            .vector = (uint8_t)vector,
                            .is_range = is_range,
                            .count = (uint32_t)count};
    if (!decl.name)
        pg_parser_stop(p, PTXGEN_ENOMEM);
    pg_add_registers(p, &decl);
    return p->fatal == PTXGEN_OK;
}

bool pg_parse_registers(pg_parser *p)
{
    pg_var_head head = {.space = PG_SPACE_REG};
    if (!parse_head(p, &head))
        return false;
    do {
        if (!parse_register(p, head.type, head.vector))
            return false;
    } while (pg_parser_accept(p, ','));
    return pg_parser_expect(p, ';');
}

/* ---- parameters ---- */

static bool parse_parameter_head(pg_parser *p, pg_var_head *head)
{
    if (p->token.kind != PG_TOKEN_SUFFIX)
        return pg_parser_unexpected(p, "'.param' or '.reg'");
    head->space = pg_space_of(p->token.text);
    if (head->space != PG_SPACE_PARAM && head->space != PG_SPACE_REG)
        return pg_parser_unexpected(p, "'.param' or '.reg'");
    pg_parser_advance(p);
    return parse_head(p, head);
}

/* A register parameter is a variable and a register of the same name. */
static bool add_register_parameter(pg_parser *p, pg_ptx_var *var, pg_str name, const pg_token *at)
{
    const pg_unique_name what = {.is_parameter = true};
    pg_ptx_reg_decl decl = {
        .type = var->type, .vector = var->vector, .is_parameter = true, .count = 1};
    const pg_binding binding = {
        .kind = PG_BIND_REG, .index = p->fn.reg_types.count, .vector = var->vector};
    if (!pg_parser_declare(p, name, at, binding))
        return false;
    decl.name = var->name = pg_names_unique(&p->names, p->arena, name, &what);
    if (!decl.name)
        pg_parser_stop(p, PTXGEN_ENOMEM);
    var->reg = (int32_t)pg_add_registers(p, &decl);
    *(pg_ptx_var *)pg_list_add(p, &p->vars) = *var;
    return p->fatal == PTXGEN_OK;
}

static bool parse_parameter(pg_parser *p, pg_ptx_role role, uint32_t function)
{
    pg_var_head head = {.role = role};
    pg_str name;
    if (!parse_parameter_head(p, &head))
        return false;
    pg_token at = p->token;
    if (!pg_parser_name(p, &name))
        return false;
    pg_ptx_var var = make_var(&head, function, &at);
    if (!parse_dims(p, &var))
        return false;
    if (head.space == PG_SPACE_REG)
        return add_register_parameter(p, &var, name, &at);
    return add_function_var(p, &var, name, &at);
}

bool pg_parse_parameters(pg_parser *p, pg_ptx_role role, uint32_t function, const uint32_t **vars,
                         uint32_t *n_vars)
{
    uint32_t first = p->vars.count;
    *n_vars = 0;
    if (!pg_parser_expect(p, '('))
        return false;
    if (!pg_parser_at(p, ')')) {
        do {
            if (!parse_parameter(p, role, function))
                return false;
        } while (pg_parser_accept(p, ','));
    }
    *n_vars = p->vars.count - first;
    if (*n_vars) {
        uint32_t *indices = pg_parser_alloc(p, *n_vars, sizeof *indices);
        for (uint32_t i = 0; indices && i < *n_vars; i++)
            indices[i] = first + i;
        *vars = indices;
    }
    return pg_parser_expect(p, ')');
}

/* ---- call prototypes ---- */

static bool parse_prototype_parameters(pg_parser *p, const pg_ptx_proto_param **out, uint32_t *n)
{
    pg_list list = {.size = sizeof(pg_ptx_proto_param)};
    if (!pg_parser_expect(p, '('))
        return false;
    if (!pg_parser_at(p, ')')) {
        do {
            pg_var_head head = {.role = PG_ROLE_PARAM};
            pg_str name;
            if (!parse_parameter_head(p, &head) || !pg_parser_name(p, &name))
                return false;
            pg_ptx_var var = make_var(&head, PG_MODULE_SCOPE, &p->token);
            if (!parse_dims(p, &var))
                return false;
            *(pg_ptx_proto_param *)pg_list_add(p, &list) =
                (pg_ptx_proto_param){.space = var.space,
                                     .type = var.type,
                                     .vector = var.vector,
                                     .is_array = var.is_array,
                                     .align = var.align,
                                     .size = var.size};
        } while (pg_parser_accept(p, ','));
    }
    *n = list.count;
    *out = pg_list_freeze(p, &list, 0);
    return pg_parser_expect(p, ')');
}

bool pg_parse_prototype(pg_parser *p, pg_ptx_proto *proto)
{
    pg_str name;
    uint64_t ignored;
    if (pg_parser_at(p, '(') && !parse_prototype_parameters(p, &proto->returns, &proto->n_returns))
        return false;
    if (!pg_parser_name(p, &name))
        return false;
    if (pg_parser_at(p, '(') && !parse_prototype_parameters(p, &proto->params, &proto->n_params))
        return false;
    while (p->token.kind == PG_TOKEN_SUFFIX) {
        if (pg_parser_accept_suffix(p, "noreturn"))
            proto->noreturn = true;
        else if (pg_parser_accept_suffix(p, "abi_preserve") ||
                 pg_parser_accept_suffix(p, "abi_preserve_control")) {
            if (!pg_parser_uint(p, UINT32_MAX, &ignored))
                return false;
        } else
            return pg_parser_unexpected(p, "';'");
    }
    return pg_parser_expect(p, ';');
}
