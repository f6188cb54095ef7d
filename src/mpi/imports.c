/*
 * Imports are the undefined symbols of the program and of the libraries that are loaded with it. The symbols that are
 * in no hash table are those, and come first. PMPI_* counts in the program alone: MPI's own libraries call it, and
 * those that wrap MPI.
 */
#include "mpi/imports.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct search {
    bool (*is_recorded)(const char *name);
    char *text;
    size_t space, length;
};

struct symbols {
    const ElfW(Sym) * items;
    const char *names;
    const uint32_t *hash; /* of GNU's form: number of buckets, index of the first symbol in it, … */
};

static struct symbols symbols_of(const struct dl_phdr_info *object)
{
    struct symbols symbols = {0};
    const ElfW(Dyn) *entry = NULL;
    for (size_t i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr); /* NOLINT: it is mapped there */
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        ElfW(Addr) at = entry->d_un.d_ptr;
        const void *place = (const void *)(at < object->dlpi_addr ? at + object->dlpi_addr : at); /* NOLINT: as above */
        if (entry->d_tag == DT_SYMTAB)
            symbols.items = place;
        if (entry->d_tag == DT_STRTAB)
            symbols.names = place;
        if (entry->d_tag == DT_GNU_HASH)
            symbols.hash = place;
    }
    return symbols;
}

/* "MPIX_Allreduce_enqueue", but not "MPI_Reduce_local". */
static bool moves_data(const char *name)
{
    static const char *const words[] = {"send",   "recv",     "bcast", "gather",  "scatter",
                                        "reduce", "alltoall", "scan",  "barrier", "accumulate"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasestr(name, words[i]))
            return !strstr(name, "_local");
    return false;
}

/* Several libraries import the same. */
static bool is_listed(const struct search *search, const char *name, size_t length)
{
    const char *at = strstr(search->text, name);
    while (at && at[length] != ',' && at[length] != '\0')
        at = strstr(at + 1, name);
    return at && (at == search->text || at[-1] == ' ');
}

static void add_name(struct search *search, const char *name)
{
    size_t length = strlen(name), separator = search->length > 0 ? 2 : 0;
    if (search->length + separator + length >= search->space || is_listed(search, name, length))
        return;
    memcpy(search->text + search->length, ", ", separator);
    memcpy(search->text + search->length + separator, name, length + 1);
    search->length += separator + length;
}

static int scan_object(struct dl_phdr_info *object, size_t size, void *context)
{
    struct search *search = context;
    struct symbols symbols = symbols_of(object);
    bool program = !*object->dlpi_name;
    (void)size;
    if (!symbols.items || !symbols.names || !symbols.hash)
        return 0;
    for (uint32_t i = 1; i < symbols.hash[1]; i++) {
        const char *name = symbols.names + symbols.items[i].st_name;
        bool profiling = strncmp(name, "PMPI", 4) == 0;
        if (symbols.items[i].st_shndx != SHN_UNDEF || strncmp(name + profiling, "MPI", 3) != 0 ||
            (profiling && !program))
            continue;
        if (moves_data(name) && (profiling || !search->is_recorded(name)))
            add_name(search, name);
    }
    return 0;
}

bool imports_find_unrecorded(bool (*is_recorded)(const char *name), char *text, size_t space)
{
    struct search search = {.is_recorded = is_recorded, .text = text, .space = space};
    *text = '\0';
    dl_iterate_phdr(scan_object, &search);
    return search.length > 0;
}
