#include "symbols/object.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "symbols/source.h"

/* Debugging information in files of its own is found by build id or by name, below /usr/lib/debug or beside the file.
 * (That may also ask servers, where DEBUGINFOD_URLS names some: symbols.c sees to it that none is.) */
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
};

/*
 * Whether FD still is the file that was mapped. A file that was replaced has another number and a time of change after
 * the process began. The number alone does not tell: on overlay and network file systems, stat() and /proc/PID/maps may
 * differ. Nor does the time: programs compile libraries for themselves and load them.
 */
static bool is_believed(int fd, uint64_t inode, uint64_t since)
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
    object->dwfl = is_believed(fd, inode, since) ? dwfl_begin(&callbacks) : NULL;
    if (object->dwfl) {
        dwfl_report_begin(object->dwfl);
        /* At the addresses that the file itself says: then one object serves all processes. */
        object->module = dwfl_report_elf(object->dwfl, path, path, fd, 0, true);
        if (object->module)
            fd = -1; /* libdwfl's now */
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
    symbol_table_release(&object->symbols);
    if (object->dwfl)
        dwfl_end(object->dwfl);
}

/* The address, as the file says it, of the code at OFFSET in it. */
static bool find_address(Dwfl_Module *module, uint64_t offset, GElf_Addr *address)
{
    GElf_Addr bias;
    size_t count;
    Elf *elf = dwfl_module_getelf(module, &bias);
    if (!elf || elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
            continue;
        if (offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz) {
            *address = segment.p_vaddr + (offset - segment.p_offset) + bias;
            return true;
        }
    }
    return false;
}

static int name_function(struct object *object, GElf_Addr address, struct names *names, const char **function)
{
    if (!object->symbols_read && symbol_table_read(&object->symbols, object->module) < 0)
        return -1;
    object->symbols_read = true;
    const char *text = symbol_table_find(&object->symbols, address);
    /* "memcpy@@GLIBC_2.14": the version says nothing here */
    uint32_t name = text ? names_put_symbol(names, text, strcspn(text, "@")) : NAMES_NO_MEMORY;
    if (text && name == NAMES_NO_MEMORY)
        return -1;
    *function = text ? names_get(names, name)->text : NULL;
    return 0;
}

static int find_place(struct object *object, struct names *names, uint64_t offset, struct stack_frame *place)
{
    GElf_Addr address;
    if (!object->module || !find_address(object->module, offset, &address))
        return 0;
    if (name_function(object, address, names, &place->function) < 0)
        return -1;
    return source_find(object->module, address, names, place);
}

static const struct stack_frame *put_place(struct object *object, struct names *names, uint64_t offset)
{
    uint64_t *known = map_put(&object->known, offset, NULL);
    if (known && *known)
        return &object->places.items[*known - 1];
    struct stack_frame *place = known ? array_push(&object->places) : NULL;
    if (!place) {
        error_no_memory("symbols");
        return NULL;
    }
    *known = object->places.count;
    return find_place(object, names, offset, place) == 0 ? place : NULL;
}

int object_name(struct object *object, struct names *names, uint64_t offset, struct stack_frame *frame)
{
    const struct stack_frame *place = put_place(object, names, offset);
    if (!place)
        return -1;
    frame->function = place->function;
    frame->file = place->file;
    frame->line = place->line;
    frame->inlined = place->inlined;
    frame->inlined_count = place->inlined_count;
    return 0;
}
