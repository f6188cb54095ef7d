/* Finds what a program or a library exports, and where its code lies. */
#ifndef GPUTRACE_SYMBOLS_EXPORTS_H
#define GPUTRACE_SYMBOLS_EXPORTS_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exported {
    const char *name;
    uint64_t address, size; /* address 0: it is not exported */
};

/* Finds COUNT symbols by their names. Addresses are those of a process that has mapped the code at OFFSET of the file
 * PATH to START. Returns false: the file cannot be read, or has no code there. */
bool exports_find(const char *path, uint64_t offset, uint64_t start, struct exported *exports, size_t count);

/* Which address the code at OFFSET of a file has in its tables. False: there is none. */
bool elf_code_address(Elf *elf, uint64_t offset, uint64_t *address);

#endif
