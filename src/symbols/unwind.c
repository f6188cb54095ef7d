/*
 * A rule leads from a frame to its caller: it has the place of the canonical frame address (CFA), and where the
 * registers of the caller were saved. Rules have few forms in practice. libdw reads the rule of an address once, and a
 * table keeps it.
 */
#include "symbols/unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/machine.h"
#include "common/map.h"
#include "symbols/elf_file.h"

/* DWARF's numbers of the registers of a processor. `caller` has the return address before it is saved. */
struct registers {
    uint16_t machine;
    uint8_t extra, bp, sp, caller;
};
static const struct registers known_registers[] = {{EM_X86_64, 3, 6, 7, 16}, {EM_AARCH64, 30, 29, 31, 30}};

enum place_kind {
    PLACE_SAME,      /* the register still has the caller's value */
    PLACE_UNDEFINED, /* the value is lost; of a return address: this is the outermost frame */
    PLACE_CFA,       /* saved at the CFA + offset */
    PLACE_REGISTER,  /* saved at the register `base` + offset */
    PLACE_UNKNOWN,
};

struct place {
    uint8_t kind, base;
    int32_t offset;
};

enum cfa_kind { CFA_NONE, CFA_OFFSET, CFA_DEREFERENCED, CFA_LINKAGE_TABLE };

struct rule {
    uint64_t key; /* file and address; 0: free */
    uint8_t cfa, base;
    bool signal; /* the caller was interrupted: its address is no return address */
    int32_t offset;
    struct place extra, bp, caller;
};

struct unwind_file {
    char *path;
    Elf *elf;
    int fd;
    Dwarf_CFI *rules; /* NULL if there are none or the file was replaced */
    bool opened;
    uint64_t inode;
};

#define RULES ((size_t)1 << 16) /* that are kept, 4 MiB; a new rule replaces another */

struct unwinder {
    uint64_t since;
    const struct registers *registers;
    struct map known; /* hash of path and inode -> number + 1 */
    ARRAY(struct unwind_file) files;
    struct rule *kept;
};

struct unwinder *unwinder_new(uint64_t since, uint16_t machine)
{
    struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
    if (!unwinder)
        return NULL;
    elf_version(EV_CURRENT);
    unwinder->since = since;
    unwinder->registers = &known_registers[machine == EM_AARCH64];
    unwinder->kept = calloc(RULES, sizeof(*unwinder->kept));
    if (unwinder->kept)
        return unwinder;
    free(unwinder);
    return NULL;
}

void unwinder_free(struct unwinder *unwinder)
{
    if (!unwinder)
        return;
    for (size_t i = 0; i < unwinder->files.count; i++) {
        struct unwind_file *file = &unwinder->files.items[i];
        if (file->rules)
            dwarf_cfi_end(file->rules);
        if (file->elf)
            elf_end(file->elf);
        if (file->opened && file->fd >= 0)
            close(file->fd);
        free(file->path);
    }
    array_release(&unwinder->files);
    map_release(&unwinder->known);
    free(unwinder->kept);
    free(unwinder);
}

/* --- files --- */

uint32_t unwinder_file(struct unwinder *unwinder, const char *path, uint64_t inode)
{
    uint64_t key = hash_bytes(path, strlen(path)) ^ inode * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t *number = map_put(&unwinder->known, key, NULL);
    if (!number)
        return UNWIND_NO_FILE;
    if (*number)
        return (uint32_t)*number - 1;
    char *copy = strdup(path);
    struct unwind_file *file = copy ? array_push(&unwinder->files) : NULL;
    if (!file) {
        free(copy);
        return UNWIND_NO_FILE;
    }
    *file = (struct unwind_file){.path = copy, .inode = inode, .fd = -1};
    *number = unwinder->files.count;
    return (uint32_t)*number - 1;
}

const char *unwinder_path(const struct unwinder *unwinder, uint32_t file)
{
    return unwinder->files.items[file].path;
}

/* Opens our own copy of the kernel's library, which is the same in all processes. */
static Elf *open_vdso(void)
{
    char *image = (char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address of this process */
    if (!image)
        return NULL;
    const Elf64_Ehdr *head = (const void *)image;
    return elf_memory(image, head->e_shoff + (size_t)head->e_shnum * head->e_shentsize);
}

static Elf *open_file(struct unwind_file *file, uint64_t since)
{
    struct stat status;
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0 || fstat(file->fd, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    uint64_t changed = (uint64_t)status.st_ctim.tv_sec * NS_PER_S + (uint64_t)status.st_ctim.tv_nsec;
    if (status.st_ino != file->inode && changed >= since) /* symbols/object.c says why both count */
        return NULL;
    return elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
}

static struct unwind_file *get_file(struct unwinder *unwinder, uint32_t number)
{
    struct unwind_file *file = &unwinder->files.items[number];
    if (file->opened)
        return file;
    file->opened = true;
    file->elf = strcmp(file->path, "[vdso]") == 0 ? open_vdso() : open_file(file, unwinder->since);
    GElf_Ehdr head;
    if (file->elf && gelf_getclass(file->elf) == ELFCLASS64 && gelf_getehdr(file->elf, &head) &&
        head.e_machine == unwinder->registers->machine)
        file->rules = dwarf_getcfi_elf(file->elf);
    return file;
}

/* --- rules --- */

static bool is_register(const Dwarf_Op *op, uint8_t *number, int64_t *offset)
{
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        *number = (uint8_t)(op->atom - DW_OP_breg0);
        *offset = (int64_t)op->number;
        return true;
    }
    *number = (uint8_t)op->number;
    *offset = (int64_t)op->number2;
    return op->atom == DW_OP_bregx && op->number < 32;
}

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static void read_cfa(struct rule *rule, Dwarf_Frame *frame, const struct registers *registers)
{
    Dwarf_Op *ops;
    size_t count = 0;
    int64_t offset = 0;
    rule->cfa = CFA_NONE;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0 || !is_register(&ops[0], &rule->base, &offset) ||
        !fits(offset))
        return;
    rule->offset = (int32_t)offset;
    if (count == 1)
        rule->cfa = CFA_OFFSET;
    else if (count == 2 && ops[1].atom == DW_OP_deref)
        rule->cfa = CFA_DEREFERENCED;
    else if (count > 2 && rule->base == registers->sp && ops[1].atom == DW_OP_breg16)
        rule->cfa = CFA_LINKAGE_TABLE; /* an entry pushes a number after its first 11 bytes */
}

static struct place read_place(Dwarf_Frame *frame, int number)
{
    Dwarf_Op space[3], *ops;
    size_t count = 0;
    struct place place = {.kind = PLACE_UNKNOWN};
    int64_t offset = 0;
    if (dwarf_frame_register(frame, number, space, &ops, &count) != 0)
        return place;
    if (count == 0) {
        place.kind = ops ? PLACE_UNDEFINED : PLACE_SAME;
        return place;
    }
    /* As the standard says, libdw puts the CFA before every expression, even if the expression does not use it. */
    bool on_cfa = ops[0].atom == DW_OP_call_frame_cfa;
    if (on_cfa && count == 1)
        place.kind = PLACE_CFA;
    else if (on_cfa && count == 2 && ops[1].atom == DW_OP_plus_uconst)
        place.kind = PLACE_CFA, offset = (int64_t)ops[1].number;
    else if (count == 1u + on_cfa && is_register(&ops[on_cfa], &place.base, &offset))
        place.kind = PLACE_REGISTER;
    if (!fits(offset))
        place.kind = PLACE_UNKNOWN;
    place.offset = (int32_t)offset;
    return place;
}

static void read_rule(struct rule *rule, Dwarf_CFI *rules, uint64_t address, const struct registers *registers)
{
    Dwarf_Frame *frame = NULL;
    if (dwarf_cfi_addrframe(rules, address, &frame) != 0)
        return;
    bool signal = false;
    dwarf_frame_info(frame, NULL, NULL, &signal);
    rule->signal = signal;
    read_cfa(rule, frame, registers);
    rule->extra = read_place(frame, registers->extra);
    rule->bp = read_place(frame, registers->bp);
    rule->caller = read_place(frame, registers->caller);
    free(frame);
}

/* Returns the rule for the code at ADDRESS, or NULL if there is none. */
static const struct rule *find_rule(struct unwinder *unwinder, const struct code_range *range, uint64_t address)
{
    uint64_t offset = address - range->start + range->offset, place;
    uint64_t key = ((uint64_t)range->file + 1) << 40 ^ offset;
    struct rule *rule = &unwinder->kept[(key * UINT64_C(0x9e3779b97f4a7c15)) >> 48 & (RULES - 1)];
    if (rule->key == key)
        return rule->cfa == CFA_NONE ? NULL : rule;
    *rule = (struct rule){.key = key};
    const struct unwind_file *file = get_file(unwinder, range->file);
    if (file->rules && elf_code_address(file->elf, offset, &place))
        read_rule(rule, file->rules, place, unwinder->registers);
    return rule->cfa == CFA_NONE ? NULL : rule;
}

/* --- from frame to frame --- */

struct walk {
    const struct registers *registers;
    struct unwind_state at;
    uint64_t low; /* address of the copy's first byte */
};

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *word)
{
    uint64_t offset = address - walk->low;
    if (address < walk->low || walk->at.size < sizeof(*word) || offset > walk->at.size - sizeof(*word))
        return false;
    memcpy(word, walk->at.stack + offset, sizeof(*word));
    return true;
}

static bool get_register(const struct walk *walk, uint8_t number, uint64_t *value)
{
    if (number == walk->registers->sp)
        *value = walk->at.sp;
    else if (number == walk->registers->bp)
        *value = walk->at.bp;
    else if (number == walk->registers->extra)
        *value = walk->at.extra;
    else
        return false;
    return true;
}

static bool get_cfa(const struct walk *walk, const struct rule *rule, uint64_t *cfa)
{
    if (!get_register(walk, rule->base, cfa))
        return false;
    *cfa += (uint64_t)(int64_t)rule->offset;
    if (rule->cfa == CFA_LINKAGE_TABLE)
        *cfa += (walk->at.ip & 15) >= 11 ? 8 : 0;
    return rule->cfa != CFA_DEREFERENCED || read_word(walk, *cfa, cfa);
}

static bool restore(const struct walk *walk, const struct place *place, uint64_t cfa, uint64_t *value)
{
    uint64_t base = cfa;
    if (place->kind == PLACE_SAME)
        return true;
    if (place->kind == PLACE_REGISTER && !get_register(walk, place->base, &base))
        return false;
    if (place->kind != PLACE_CFA && place->kind != PLACE_REGISTER)
        return false;
    return read_word(walk, base + (uint64_t)(int64_t)place->offset, value);
}

/* Steps to the calling frame by a rule of the tables. */
static bool step_by_rule(struct walk *walk, const struct rule *rule)
{
    uint64_t cfa, ip = walk->at.extra, extra = walk->at.extra, bp = walk->at.bp;
    bool linked = walk->registers->caller == walk->registers->extra; /* a call puts the return address in a register */
    bool unsaved = rule->caller.kind == PLACE_SAME;
    if (!get_cfa(walk, rule, &cfa) || cfa < walk->at.sp || (unsaved ? !linked : cfa == walk->at.sp))
        return false;
    if (!restore(walk, &rule->caller, cfa, &ip))
        return false;
    if (linked || !restore(walk, &rule->extra, cfa, &extra))
        extra = 0;
    if (!restore(walk, &rule->bp, cfa, &bp))
        bp = 0;
    walk->at.ip = machine_code_address(walk->registers->machine, ip);
    walk->at.sp = cfa;
    walk->at.extra = extra;
    walk->at.bp = bp;
    return true;
}

/* Steps by the frame pointer, which points to the caller's frame pointer; the return address lies above. */
static bool step_by_frame_pointer(struct walk *walk, const struct code_map *map)
{
    uint64_t frame = walk->at.bp, above, ip;
    if (frame < walk->at.sp || frame % 8 != 0 || !read_word(walk, frame, &above) || !read_word(walk, frame + 8, &ip))
        return false;
    ip = machine_code_address(walk->registers->machine, ip);
    if (!code_map_find(map, ip))
        return false;
    walk->at.ip = ip;
    walk->at.bp = above;
    walk->at.sp = frame + 16;
    return true;
}

size_t unwind(struct unwinder *unwinder, const struct code_map *map, const struct unwind_state *state,
              uint64_t *addresses, size_t most)
{
    struct walk walk = {.registers = unwinder->registers, .at = *state, .low = state->sp};
    bool is_exact = true; /* otherwise the address is a return address */
    size_t count = 0;
    while (count < most && walk.at.ip != 0) {
        addresses[count++] = walk.at.ip;
        uint64_t code = is_exact ? walk.at.ip : walk.at.ip - 1;
        const struct code_range *range = code_map_find(map, code);
        const struct rule *rule = range && range->file != UNWIND_NO_FILE ? find_rule(unwinder, range, code) : NULL;
        is_exact = rule && rule->signal;
        if (rule ? !step_by_rule(&walk, rule) : !step_by_frame_pointer(&walk, map))
            break;
    }
    return count;
}

/* --- what is mapped --- */

static size_t first_beyond(const struct code_map *map, uint64_t address)
{
    size_t low = 0, high = map->items.count; /* the first range that ends after ADDRESS */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->items.items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct code_range *code_map_find(const struct code_map *map, uint64_t address)
{
    size_t at = first_beyond(map, address);
    return at < map->items.count && map->items.items[at].start <= address ? &map->items.items[at] : NULL;
}

/* Replaces COUNT ranges at AT with WITH_COUNT ranges of WITH. Returns 0, or -1 if memory is short. */
static int replace(struct code_map *map, size_t at, size_t count, const struct code_range *with, size_t with_count)
{
    for (size_t i = count; i < with_count; i++)
        if (!array_push(&map->items))
            return -1;
    struct code_range *items = map->items.items;
    size_t total = with_count > count ? map->items.count - (with_count - count) : map->items.count;
    memmove(items + at + with_count, items + at + count, (total - at - count) * sizeof(*items));
    memcpy(items + at, with, with_count * sizeof(*items));
    map->items.count = total - count + with_count;
    return 0;
}

int code_map_add(struct code_map *map, const struct code_range *range)
{
    struct code_range pieces[3];
    size_t from = first_beyond(map, range->start), to = from, count = 0;
    if (range->start >= range->end)
        return 0;
    while (to < map->items.count && map->items.items[to].start < range->end)
        to++;
    if (from < to && map->items.items[from].start < range->start) {
        pieces[count] = map->items.items[from];
        pieces[count++].end = range->start;
    }
    pieces[count++] = *range;
    if (from < to && map->items.items[to - 1].end > range->end) {
        pieces[count] = map->items.items[to - 1];
        pieces[count].offset += range->end - pieces[count].start;
        pieces[count++].start = range->end;
    }
    return replace(map, from, to - from, pieces, count);
}

int code_map_copy(struct code_map *map, const struct code_map *from)
{
    *map = (struct code_map){0};
    for (size_t i = 0; i < from->items.count; i++)
        if (!ADD(array_push, &map->items, from->items.items[i]))
            return -1;
    return 0;
}

void code_map_release(struct code_map *map)
{
    array_release(&map->items);
}
