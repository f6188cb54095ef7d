/*
 * Reads the symbols of a file and its debugging information with elfutils (libdwfl). If an interpreter has no symbol
 * for the function of Python's garbage collector, this function is found in the code.
 */
#include "symbols/symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/clock.h"
#include "common/log.h"
#include "symbols/elf_file.h"

/* --- functions by their symbols --- */

/* How many nested functions, which end before an address, are skipped in search of the function around them. */
#define NESTED_MAX 16

static bool is_function(const GElf_Sym *symbol, GElf_Word section)
{
    switch (GELF_ST_TYPE(symbol->st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC: return section != SHN_UNDEF;
    case STT_NOTYPE: return section != SHN_UNDEF && section != SHN_ABS && symbol->st_size > 0;
    default: return false;
    }
}

/* Ranks the names of a function: a public name is better than a private one, "write" is better than "__write". */
static unsigned rank_of(const GElf_Sym *symbol, const char *name)
{
    size_t underscores = strspn(name, "_");
    unsigned plain = underscores < 8 ? 8 - (unsigned)underscores : 0;
    bool public = GELF_ST_BIND(symbol->st_info) != STB_LOCAL && GELF_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;
    return (symbol->st_size > 0 ? 32u : 0) + (public ? 16u : 0) + plain;
}

static int compare(const void *left, const void *right)
{
    const struct symbol *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(b->name, a->name);
}

void symbol_table_sort(struct symbol_table *table)
{
    if (table->items.count > 0)
        qsort(table->items.items, table->items.count, sizeof(*table->items.items), compare);
}

/* --- Python's garbage collector --- */

/*
 * Debian and Ubuntu ship interpreters without private symbols. In these, the garbage collector is the function without
 * a name that the public PyGC_Collect() calls. The table for exceptions lists where functions begin.
 */

#define PUBLIC "PyGC_Collect"
#define PRIVATE "gc_collect" /* private names of the collector's functions begin with it */

/* x86-64's call instruction, with the distance of the function from the next instruction. */
#define CALL 0xe8
#define CALL_BYTES 5

/* Bytes. PyGC_Collect() calls smaller functions too, which save the current exception. */
#define SMALLEST 64

/* Returns the symbol PyGC_Collect; NULL if there is none or private functions have names. */
static const struct symbol *find_public(const struct symbol_table *table)
{
    const struct symbol *found = NULL;
    for (size_t i = 0; i < table->items.count; i++) {
        const char *name = table->items.items[i].name;
        if (strncmp(name, PRIVATE, strlen(PRIVATE)) == 0)
            return NULL;
        if (*name == 'P' && strcmp(name, PUBLIC) == 0)
            found = &table->items.items[i];
    }
    return found;
}

/* Returns the SIZE bytes at ADDRESS of the file, or NULL if they cannot be read. */
static const unsigned char *read_bytes(Elf *elf, uint64_t address, uint64_t size)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || address < segment.p_vaddr)
            continue;
        uint64_t at = address - segment.p_vaddr;
        if (at > segment.p_filesz || size > segment.p_filesz - at)
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + at), size, ELF_T_BYTE);
        return data && data->d_size == size ? data->d_buf : NULL;
    }
    return NULL;
}

/* The addresses at which functions begin, sorted: the table of PT_GNU_EH_FRAME. */
struct beginnings {
    const unsigned char *entries; /* pairs of 32-bit numbers; the first is an address relative to BASE */
    uint64_t base;
    uint32_t count;
};

#define HEADER_BYTES 12
#define ENTRY_BYTES 8

static void read_beginnings(Elf *elf, struct beginnings *beginnings)
{
    static const unsigned char usual[] = {1, 0x1b, 0x03, 0x3b}; /* version and encodings of numbers */
    size_t count = 0;
    *beginnings = (struct beginnings){0};
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
            continue;
        const unsigned char *bytes = read_bytes(elf, segment.p_vaddr, segment.p_filesz);
        if (!bytes || segment.p_filesz < HEADER_BYTES || memcmp(bytes, usual, sizeof(usual)) != 0)
            return;
        memcpy(&beginnings->count, bytes + 8, sizeof(beginnings->count));
        if (beginnings->count > (segment.p_filesz - HEADER_BYTES) / ENTRY_BYTES)
            beginnings->count = 0;
        beginnings->entries = bytes + HEADER_BYTES;
        beginnings->base = segment.p_vaddr;
    }
}

static uint64_t beginning(const struct beginnings *beginnings, uint32_t number)
{
    return beginnings->base + (uint64_t)(int64_t)LOAD(int32_t, beginnings->entries + (size_t)number * ENTRY_BYTES);
}

/* Returns the bytes from the function that begins at ADDRESS to the next one; 0 if none begins there. */
static uint64_t size_of_function(const struct beginnings *beginnings, uint64_t address)
{
    uint32_t low = 0, high = beginnings->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (beginning(beginnings, middle) < address)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low + 1 < beginnings->count && beginning(beginnings, low) == address;
    return found ? beginning(beginnings, low + 1) - address : 0;
}

/* Adds a symbol "gc_collect" for Python's garbage collector if MODULE is an interpreter without private symbols.
 * Returns 0, or -1 after error(). */
static int name_collector(struct symbol_table *table, Dwfl_Module *module)
{
    GElf_Addr bias = 0;
    GElf_Ehdr header;
    struct beginnings beginnings;
    const struct symbol *public = find_public(table);
    Elf *elf = public ? dwfl_module_getelf(module, &bias) : NULL;
    if (!elf || !gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
        return 0;
    const uint64_t start = public->address, size = public->size;
    const unsigned char *code = read_bytes(elf, start - bias, size);
    read_beginnings(elf, &beginnings);
    for (uint64_t i = 0; code && i + CALL_BYTES <= size; i++) {
        uint64_t called = start + i + CALL_BYTES + (uint64_t)(int64_t)LOAD(int32_t, code + i + 1);
        if (code[i] != CALL || symbol_table_find(table, called))
            continue;
        uint64_t bytes = size_of_function(&beginnings, called - bias);
        if (bytes < SMALLEST)
            continue;
        if (!ADD(array_push, &table->items, (struct symbol){called, bytes, PRIVATE, 0}))
            return error_no_memory("symbols");
        symbol_table_sort(table);
    }
    return 0;
}

/* --- tables of symbols --- */

int symbol_table_read(struct symbol_table *table, Dwfl_Module *module)
{
    int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, NULL, NULL);
        if (!name || !*name || !is_function(&symbol, section))
            continue;
        if (!ADD(array_push, &table->items, (struct symbol){address, symbol.st_size, name, rank_of(&symbol, name)}))
            return error_no_memory("symbols");
    }
    symbol_table_sort(table);
    return name_collector(table, module);
}

const char *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
    size_t before = 0, high = table->items.count; /* how many begin at ADDRESS or before it */
    while (before < high) {
        size_t middle = before + (high - before) / 2;
        if (table->items.items[middle].address <= address)
            before = middle + 1;
        else
            high = middle;
    }
    if (before > 0 && table->items.items[before - 1].size == 0)
        return table->items.items[before - 1].name;
    for (size_t i = 0; i < NESTED_MAX && i < before; i++) {
        const struct symbol *symbol = &table->items.items[before - 1 - i];
        if (address - symbol->address < symbol->size)
            return symbol->name;
    }
    return NULL;
}

/* --- lines and inlined calls --- */

/* A compilation unit, and an address in it that gets a source line. */
struct unit {
    struct names *names;
    Dwarf_Die *die;
    Dwarf_Addr address; /* as in the debugging information */
};

/* Sets *TEXT to the text of NAME, which NAMES own. Returns 0, or -1 if NAME is NAMES_NO_MEMORY. */
static int set_text(const char **text, const struct names *names, uint32_t name)
{
    if (name == NAMES_NO_MEMORY)
        return -1;
    *text = names_get(names, name)->text;
    return 0;
}

static int set_file(const struct unit *unit, const char *path, struct stack_frame *frame)
{
    char joined[PATH_MAX];
    Dwarf_Attribute attribute;
    const char *directory = *path == '/' ? NULL : dwarf_formstring(dwarf_attr(unit->die, DW_AT_comp_dir, &attribute));
    if (directory && snprintf(joined, sizeof(joined), "%s/%s", directory, path) < (int)sizeof(joined))
        path = joined;
    return set_text(&frame->file, unit->names, names_put(unit->names, path, strlen(path)));
}

/* Sets file and line of FRAME for the address of UNIT. Returns 0, or -1 if memory is short. */
static int set_line(const struct unit *unit, struct stack_frame *frame)
{
    int number = 0;
    Dwarf_Line *line = dwarf_getsrc_die(unit->die, unit->address);
    const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (!path)
        return 0;
    if (dwarf_lineno(line, &number) == 0 && number > 0)
        frame->line = (uint32_t)number;
    return set_file(unit, path, frame);
}

/* Sets file and line of FRAME to the place that makes the inlined CALL. Returns 0, or -1 if memory is short. */
static int set_call_site(const struct unit *unit, Dwarf_Die *call, struct stack_frame *frame)
{
    Dwarf_Attribute attribute;
    Dwarf_Word file, line;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_formudata(dwarf_attr(call, DW_AT_call_file, &attribute), &file) != 0 ||
        dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &attribute), &line) != 0 ||
        dwarf_getsrcfiles(unit->die, &files, &count) != 0)
        return 0;
    const char *path = file < count ? dwarf_filesrc(files, (size_t)file, NULL, NULL) : NULL;
    if (!path)
        return 0;
    frame->line = (uint32_t)line;
    return set_file(unit, path, frame);
}

static int set_function(const struct unit *unit, Dwarf_Die *call, struct stack_frame *frame)
{
    Dwarf_Attribute attribute;
    const char *text = dwarf_formstring(dwarf_attr_integrate(call, DW_AT_linkage_name, &attribute));
    if (!text)
        text = dwarf_diename(call);
    return text ? set_text(&frame->function, unit->names, names_put_symbol(unit->names, text, strlen(text))) : 0;
}

/* Finds the scopes around the address, from the innermost inlined call outwards. Returns their number, 0 if no call is
 * inlined. The caller frees *SCOPES. */
static int find_inlined_scopes(const struct unit *unit, Dwarf_Die **scopes)
{
    Dwarf_Die *around = NULL;
    int count = dwarf_getscopes(unit->die, unit->address, &around), found = 0;
    *scopes = NULL;
    for (int i = 0; i < count && found == 0; i++) {
        int tag = dwarf_tag(&around[i]);
        if (tag == DW_TAG_inlined_subroutine)
            found = dwarf_getscopes_die(&around[i], scopes); /* scopes around the call, not around the definition */
        else if (tag == DW_TAG_subprogram)
            break;
    }
    free(around);
    return found > 0 ? found : 0;
}

/* Adds a frame for each inlined call, with its function and a place: in the innermost call the line of the code, in the
 * others the place of the next inner call. FRAME's own place becomes that of the outermost call. */
static int set_inlined(const struct unit *unit, Dwarf_Die *scopes, int count, struct stack_frame *frame)
{
    struct stack_frame place = {.file = frame->file, .line = frame->line};
    struct stack_frame *inlined = calloc((size_t)count, sizeof(*inlined));
    if (!inlined)
        return error_no_memory("symbols");
    frame->inlined = inlined;
    for (int i = 0; i < count && dwarf_tag(&scopes[i]) != DW_TAG_subprogram; i++) {
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
            continue;
        struct stack_frame *call = &inlined[frame->inlined_count++];
        *call = place;
        if (set_function(unit, &scopes[i], call) < 0 || set_call_site(unit, &scopes[i], &place) < 0)
            return -1;
    }
    frame->file = place.file;
    frame->line = place.line;
    return 0;
}

static int find_source(Dwfl_Module *module, uint64_t address, struct names *names, struct stack_frame *frame)
{
    struct unit unit = {.names = names};
    Dwarf_Addr bias = 0;
    Dwarf_Die *scopes;
    unit.die = dwfl_module_addrdie(module, address, &bias);
    /* Clang writes no .debug_aranges, the table that this call searches: all units are searched instead. */
    if (!unit.die)
        while ((unit.die = dwfl_module_nextcu(module, unit.die, &bias)) && dwarf_haspc(unit.die, address - bias) <= 0)
            continue;
    unit.address = address - bias;
    if (!unit.die)
        return 0;
    if (set_line(&unit, frame) < 0)
        return -1;
    int count = find_inlined_scopes(&unit, &scopes);
    int status = count > 0 ? set_inlined(&unit, scopes, count, frame) : 0;
    free(scopes);
    return status;
}

/* libdwfl finds separate files of debugging information by build id or by name, below /usr/lib/debug or beside the
 * file. It would also ask the servers in DEBUGINFOD_URLS, which symbols_new() unsets. */
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
};

/*
 * Whether FD is still the file that was mapped. A replaced file has another number and was changed after the process
 * began. The number alone is not enough: stat() and /proc/PID/maps may differ on overlay and network file systems. The
 * time alone is not enough: programs compile libraries for themselves and load them.
 */
static bool is_same_file(int fd, uint64_t inode, uint64_t since)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    uint64_t changed = (uint64_t)status.st_ctim.tv_sec * NS_PER_S + (uint64_t)status.st_ctim.tv_nsec;
    return status.st_ino == inode || changed < since;
}

void object_open(struct object *object, const char *path, uint64_t inode, uint64_t since)
{
    *object = (struct object){0};
    if (*path != '/' || inode == 0)
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe or a device must not hold us up */
    if (fd < 0)
        return;
    object->dwfl = is_same_file(fd, inode, since) ? dwfl_begin(&callbacks) : NULL;
    if (object->dwfl) {
        dwfl_report_begin(object->dwfl);
        /* The file's own addresses are used, so that one object serves all processes. */
        object->module = dwfl_report_elf(object->dwfl, path, path, fd, 0, true);
        if (object->module)
            fd = -1; /* libdwfl owns it now */
        dwfl_report_end(object->dwfl, NULL, NULL);
    }
    if (fd >= 0)
        close(fd);
}

void object_close(struct object *object)
{
    for (size_t i = 0; i < object->places.count; i++)
        free((void *)(uintptr_t)object->places.items[i].inlined);
    array_release(&object->places);
    map_release(&object->known);
    array_release(&object->symbols.items);
    if (object->dwfl)
        dwfl_end(object->dwfl);
}

static int find_place(struct object *object, struct names *names, uint64_t offset, struct stack_frame *place)
{
    GElf_Addr bias, address;
    Elf *elf = object->module ? dwfl_module_getelf(object->module, &bias) : NULL;
    if (!elf || !elf_code_address(elf, offset, &address))
        return 0;
    address += bias;
    if (!object->symbols_read && symbol_table_read(&object->symbols, object->module) < 0)
        return -1;
    object->symbols_read = true;
    const char *text = symbol_table_find(&object->symbols, address);
    /* The version is cut off, as in "memcpy@@GLIBC_2.14". */
    if (text && set_text(&place->function, names, names_put_symbol(names, text, strcspn(text, "@"))) < 0)
        return -1;
    return find_source(object->module, address, names, place);
}

int object_name(struct object *object, struct names *names, uint64_t offset, struct stack_frame *frame)
{
    uint64_t *known = map_put(&object->known, offset, NULL);
    if (known && *known == 0) {
        struct stack_frame *made = array_push(&object->places);
        *known = object->places.count;
        if (made && find_place(object, names, offset, made) != 0)
            return -1;
        known = made ? known : NULL;
    }
    if (!known)
        return error_no_memory("symbols");
    const struct stack_frame *place = &object->places.items[*known - 1];
    frame->function = place->function;
    frame->file = place->file;
    frame->line = place->line;
    frame->inlined = place->inlined;
    frame->inlined_count = place->inlined_count;
    return 0;
}
