/*
 * What ELF files say of themselves: whether a program is static, for musl, or holds kernels; what a library exports, and
 * where its code lies. Nothing is found in a file that is damaged or of 32 bits.
 */
#ifndef GPUTRACE_SYMBOLS_ELF_FILE_H
#define GPUTRACE_SYMBOLS_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether PATH is such a file. */
bool elf_is(const char *path);

/* Whether the program is an executable without a dynamic loader. */
bool program_is_static(const char *path);

/* Whether it is, and contains NVTX's header: loading a library into it can crash it. */
bool program_is_static_with_nvtx(const char *path);

/* Whether it is for musl, a C library into which ours, which is for glibc, cannot be loaded. */
bool program_is_for_musl(const char *path);

/* Whether nvcc put code for GPUs into the file. */
bool program_has_kernels(const char *path);

/* Copies the text that the shared library PATH exports as the char array NAME into TEXT, without loading it. Returns
 * false when it exports none, or a longer one than SPACE. */
bool elf_exported_text(const char *path, const char *name, char *text, size_t space);

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
