/*
 * Reads facts from ELF files: whether a program is static, for musl, or holds kernels; what a library exports, and
 * where its code lies. Nothing is found in a file that is damaged or of 32 bits.
 */
#ifndef GPUTRACE_SYMBOLS_ELF_FILE_H
#define GPUTRACE_SYMBOLS_ELF_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_facts {
    bool is_elf;      /* an ELF file of 64 bits */
    bool is_static;   /* an executable without a dynamic loader */
    bool has_nvtx;    /* a static executable with NVTX's header: loading a library into it can crash it */
    bool is_for_musl; /* for the C library musl: the agent, which is for glibc, cannot be loaded into it */
    bool has_kernels; /* nvcc put code for GPUs into the file */
};

/* Returns the facts of the file PATH, which are all false if it cannot be read. */
struct elf_facts elf_facts_read(const char *path);

/* Copies the text that the shared library PATH exports as the char array NAME into TEXT, without loading it. Returns
 * false if it exports no such text, or more than SPACE bytes. */
bool elf_exported_text(const char *path, const char *name, char *text, size_t space);

struct exported {
    const char *name;
    uint64_t address, size; /* address is 0 if the symbol is not exported */
};

/* Finds COUNT symbols by their names. Addresses are those of a process that has mapped the code at OFFSET of the file
 * PATH to START. Returns false if the file cannot be read or has no code at OFFSET. */
bool exports_find(const char *path, uint64_t offset, uint64_t start, struct exported *exports, size_t count);

/* Sets *ADDRESS to the address that the file's tables use for its code at OFFSET. Returns false if no code is there. */
bool elf_code_address(Elf *elf, uint64_t offset, uint64_t *address);

#endif
