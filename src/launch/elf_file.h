/*
 * What a 64-bit ELF file says of itself, read from the file: nothing of it is run. Files may be damaged; then they have
 * nothing of what is asked for.
 */
#ifndef GPUTRACE_LAUNCH_ELF_FILE_H
#define GPUTRACE_LAUNCH_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
    int fd; /* -1: it is not such a file */
    Elf64_Ehdr head;
};

/* Returns whether PATH is such a file. Either way elf_close() is right. */
bool elf_open(struct elf_file *file, const char *path);
void elf_close(struct elf_file *file);

/* Returns 1 when there is a program header of TYPE, 0 when not, -1 when the file does not say. */
int elf_has_segment(const struct elf_file *file, uint32_t type);

/* Copies the name of the loader that the file asks for (PT_INTERP) into TEXT. Returns false when it asks for none, or
 * for one with a name longer than ROOM. */
bool elf_loader(const struct elf_file *file, char *text, size_t room);

bool elf_has_section(const struct elf_file *file, const char *name);

/* Whether the bytes of TEXT, at most 63, stand anywhere in the file. */
bool elf_has_text(const struct elf_file *file, const char *text);

/* Copies the text that a shared library exports as the char array SYMBOL into TEXT. Returns false when it exports none,
 * or a longer one than ROOM. */
bool elf_exported_text(const struct elf_file *file, const char *symbol, char *text, size_t room);

#endif
