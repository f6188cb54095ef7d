/*
 * Finds the program as execvp(3) would, and reads in its ELF file what matters before the run: whether it is static,
 * for musl, or holds kernels. Finds our own library and compares its version.
 */
#include "launch/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"
#include "common/memory.h"
#include "launch/launch.h"

/* Returns 0 for a file that may be run, else errno. */
static int check(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return errno;
    if (S_ISDIR(file.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static bool absent(int failure)
{
    return failure == ENOENT || failure == ENOTDIR;
}

/* Finds NAME in PATH as a shell does. Returns 0, or errno: of a file that cannot be run, which explains more than none.
 */
static int search_path(const char *name, char *path, size_t space)
{
    const char *list = getenv("PATH");
    int worst = ENOENT;
    for (const char *folder = list ? list : "/usr/local/bin:/usr/bin:/bin"; *name;) {
        size_t length = strcspn(folder, ":");
        int size = snprintf(path, space, "%.*s/%s", length ? (int)length : 1, length ? folder : ".", name);
        int failure = size > 0 && (size_t)size < space ? check(path) : ENOENT;
        if (failure == 0)
            return 0;
        if (!absent(failure) && failure != EISDIR)
            worst = failure;
        if (!folder[length])
            break;
        folder += length + 1;
    }
    return worst;
}

/* --- the interpreter of a script --- */

const char *program_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Returns what runs scripts with the ending of PATH; NULL: not known. */
static const char *interpreter_of(const char *path)
{
    char found[PATH_MAX];
    static const struct {
        const char *ending, *names[2]; /* the second one where the first is not installed */
    } known[] = {{".py", {"python", "python3"}}, {".sh", {"sh", "sh"}},       {".bash", {"bash", "bash"}},
                 {".pl", {"perl", "perl"}},      {".jl", {"julia", "julia"}}, {".R", {"Rscript", "Rscript"}},
                 {".lua", {"lua", "luajit"}},    {".rb", {"ruby", "ruby"}},   {".js", {"node", "nodejs"}}};
    const char *ending = strrchr(program_name(path), '.');
    for (size_t i = 0; ending && i < sizeof(known) / sizeof(*known); i++)
        if (strcmp(ending, known[i].ending) == 0)
            return known[i].names[search_path(known[i].names[0], found, sizeof(found)) != 0];
    return NULL;
}

void program_warn_if_unmarked(const char *path)
{
    char begin[2] = "";
    const char *interpreter = interpreter_of(path);
    int fd = interpreter && strcmp(interpreter, "sh") != 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t got = fd < 0 ? 0 : read(fd, begin, sizeof(begin));
    if (fd >= 0)
        close(fd);
    if (got == 2 && memcmp(begin, "#!", 2) != 0 && memcmp(begin, ELFMAG, 2) != 0)
        warning("'%s' has no #! line, so sh runs it: 'gputrace run %s %s' runs it with %s", path, interpreter,
                shell_file(path), interpreter);
}

static int refuse(const char *path, int failure)
{
    struct stat file;
    if (absent(failure) && stat(path, &file) == 0 && S_ISREG(file.st_mode) && interpreter_of(path))
        failure = EACCES; /* in this directory, which is not in PATH */
    if (absent(failure)) {
        error("cannot find '%s'", path);
        return EXIT_NOT_FOUND;
    }
    const char *interpreter = failure == EACCES ? interpreter_of(path) : NULL;
    if (interpreter)
        error("cannot run '%s': it is not executable: 'gputrace run %s %s' runs it with %s", path, interpreter,
              shell_file(path), interpreter);
    else if (failure == EACCES)
        error("cannot run '%s': it is not executable (chmod +x makes it so)", path);
    else
        error("cannot run '%s': %s", path, strerror(failure));
    return EXIT_NOT_RUN;
}

int program_find(const char *name, char *path, size_t space)
{
    if (strchr(name, '/')) {
        int failure = strlen(name) < space ? check(strcpy(path, name)) : ENAMETOOLONG;
        return failure ? refuse(name, failure) : 0;
    }
    int failure = search_path(name, path, space);
    if (failure != ENOENT || access(name, X_OK) != 0)
        return failure ? refuse(name, failure) : 0;
    error("cannot find '%s' in PATH: to run the file in this directory, use './%s'", name, name);
    return EXIT_NOT_FOUND;
}

bool program_gains_rights(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return false;
    bool user = (file.st_mode & S_ISUID) && file.st_uid != getuid();
    bool group = (file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != getgid();
    return user || group || (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

/* --- what starts jobs --- */

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* The script of a Python's ARGV, or the module after -m; NULL: there is none. */
static const char *python_program(char *const *argv, bool *is_module)
{
    *is_module = false;
    for (argv++; *argv && **argv == '-'; argv++) {
        *is_module = strcmp(*argv, "-m") == 0;
        if (*is_module)
            return argv[1];
        if (strcmp(*argv, "-X") == 0 || strcmp(*argv, "-W") == 0) /* a value follows */
            argv += argv[1] != NULL;
    }
    return *argv;
}

bool job_program_starts_ranks(char *const *argv)
{
    static const char *const names[] = {
        "torchrun",     "accelerate",    "deepspeed",       "mpirun",         "mpiexec",    "orterun",
        "prterun",      "mpirun_rsh",    "mpiexec.hydra",   "mpirun.openmpi", "srun",       "jsrun",
        "mpirun.mpich", "mpiexec.mpich", "mpiexec.openmpi", "flux",           "horovodrun", NULL};
    static const char *const modules[] = {"torch.distributed.run", "torch.distributed.launch",
                                          "accelerate.commands.launch", "deepspeed.launcher.runner", NULL};
    const char *name = program_name(argv[0]);
    bool is_module;
    if (strncmp(name, "python", 6) != 0)
        return is_one_of(name, names);
    const char *program = python_program(argv, &is_module);
    return program && (is_module ? is_one_of(program, modules) : is_one_of(program_name(program), names));
}

/* --- a 64-bit ELF file; of a damaged one nothing is found --- */

struct elf_file {
    int fd; /* -1: it is not such a file */
    Elf64_Ehdr head;
};

static bool read_at(const struct elf_file *file, uint64_t at, void *bytes, size_t size)
{
    return at <= INT64_MAX && pread(file->fd, bytes, size, (off_t)at) == (ssize_t)size;
}

static void elf_close(struct elf_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* elf_close() may be called whatever it returns. */
static bool elf_open(struct elf_file *file, const char *path)
{
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd >= 0 && read_at(file, 0, &file->head, sizeof(file->head)) &&
        memcmp(file->head.e_ident, ELFMAG, SELFMAG) == 0 && file->head.e_ident[EI_CLASS] == ELFCLASS64)
        return true;
    elf_close(file);
    return false;
}

/* Returns 1 when there is a program header of TYPE, 0 when not, -1 when the file does not say. */
static int find_segment(const struct elf_file *file, uint32_t type, Elf64_Phdr *segment)
{
    if (file->head.e_phentsize != sizeof(*segment))
        return -1;
    for (unsigned i = 0; i < file->head.e_phnum; i++) {
        if (!read_at(file, file->head.e_phoff + i * sizeof(*segment), segment, sizeof(*segment)))
            return -1;
        if (segment->p_type == type)
            return 1;
    }
    return 0;
}

static bool read_section(const struct elf_file *file, unsigned number, Elf64_Shdr *section)
{
    return number < file->head.e_shnum && file->head.e_shentsize == sizeof(*section) &&
           read_at(file, file->head.e_shoff + number * sizeof(*section), section, sizeof(*section));
}

/* Whether NAME is the string at OFFSET of the section STRINGS. */
static bool is_named(const struct elf_file *file, const Elf64_Shdr *strings, uint64_t offset, const char *name)
{
    char found[64];
    size_t size = strlen(name) + 1;
    return size <= sizeof(found) && read_at(file, strings->sh_offset + offset, found, size) &&
           memcmp(found, name, size) == 0;
}

/* The bytes of SYMBOL, which end with a NUL. */
static bool read_text(const struct elf_file *file, const Elf64_Sym *symbol, char *text, size_t space)
{
    Elf64_Shdr section;
    uint64_t size = symbol->st_size;
    return size > 0 && size <= space && read_section(file, symbol->st_shndx, &section) &&
           section.sh_type == SHT_PROGBITS && symbol->st_value >= section.sh_addr &&
           read_at(file, section.sh_offset + (symbol->st_value - section.sh_addr), text, size) &&
           text[size - 1] == '\0';
}

static bool find_symbol(const struct elf_file *file, const Elf64_Shdr *table, const char *name, Elf64_Sym *symbol)
{
    Elf64_Shdr strings;
    uint64_t count = table->sh_entsize == sizeof(*symbol) ? table->sh_size / sizeof(*symbol) : 0;
    bool found = false, readable = read_section(file, table->sh_link, &strings);
    for (uint64_t i = 0; readable && !found && i < count; i++) {
        readable = read_at(file, table->sh_offset + i * sizeof(*symbol), symbol, sizeof(*symbol));
        found = readable && is_named(file, &strings, symbol->st_name, name);
    }
    return found;
}

bool elf_exported_text(const char *path, const char *name, char *text, size_t space)
{
    struct elf_file file;
    Elf64_Shdr section;
    Elf64_Sym symbol;
    bool found = false, readable = elf_open(&file, path);
    for (unsigned i = 0; readable && !found && read_section(&file, i, &section); i++)
        found = section.sh_type == SHT_DYNSYM && find_symbol(&file, &section, name, &symbol) &&
                read_text(&file, &symbol, text, space);
    elf_close(&file);
    return found;
}

bool elf_is(const char *path)
{
    struct elf_file file;
    bool is = elf_open(&file, path);
    elf_close(&file);
    return is;
}

/* Whether the bytes of TEXT, at most 63, are anywhere in the file. */
static bool elf_has_text(const struct elf_file *file, const char *text)
{
    char block[1 << 16];
    size_t length = strlen(text), kept = 0; /* bytes of the last block, in which the text may begin */
    ssize_t got;
    for (off_t at = 0; (got = pread(file->fd, block + kept, sizeof(block) - kept, at)) > 0; at += got) {
        size_t size = kept + (size_t)got;
        if (memmem(block, size, text, length))
            return true;
        kept = size < length ? size : length - 1;
        memmove(block, block + size - kept, kept);
    }
    return false;
}

static bool ask(const char *path, bool (*question)(const struct elf_file *))
{
    struct elf_file file;
    bool yes = elf_open(&file, path) && question(&file);
    elf_close(&file);
    return yes;
}

static bool is_static(const struct elf_file *file)
{
    Elf64_Phdr segment;
    return find_segment(file, PT_INTERP, &segment) == 0;
}

static bool is_static_with_nvtx(const struct elf_file *file)
{
    return is_static(file) && elf_has_text(file, "NVTX_INJECTION64_PATH");
}

static bool is_for_musl(const struct elf_file *file)
{
    char loader[PATH_MAX]; /* that the file asks for */
    Elf64_Phdr segment;
    return find_segment(file, PT_INTERP, &segment) == 1 && segment.p_filesz > 0 && segment.p_filesz <= sizeof(loader) &&
           read_at(file, segment.p_offset, loader, segment.p_filesz) && loader[segment.p_filesz - 1] == '\0' &&
           strstr(loader, "/ld-musl-");
}

static bool has_kernels(const struct elf_file *file)
{
    Elf64_Shdr names, section;
    bool found = false, readable = read_section(file, file->head.e_shstrndx, &names);
    for (unsigned i = 0; readable && !found && read_section(file, i, &section); i++)
        found = is_named(file, &names, section.sh_name, ".nv_fatbin"); /* where nvcc puts them */
    return found;
}

bool program_is_static(const char *path)
{
    return ask(path, is_static);
}

bool program_is_static_with_nvtx(const char *path)
{
    return ask(path, is_static_with_nvtx);
}

bool program_is_for_musl(const char *path)
{
    return ask(path, is_for_musl);
}

bool program_has_kernels(const char *path)
{
    return ask(path, has_kernels);
}

/* --- our library --- */

/* Folders of the library, relative to this program: in a build tree, and as `make install` puts it. */
static const char *const places[] = {"", "/" GPUTRACE_LIBDIR};

int library_find(char *path, size_t space)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0 && !realpath((const char *)getauxval(AT_EXECFN), self)) /* there is no /proc */
        return -1;
    if (length > 0)
        self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        char candidate[PATH_MAX], absolute[PATH_MAX];
        int size = snprintf(candidate, sizeof(candidate), "%s%s/" LIBRARY_FILE, self, places[i]);
        if (size < 0 || (size_t)size >= sizeof(candidate) || !realpath(candidate, absolute))
            continue;
        size = snprintf(path, space, "%s", absolute);
        if (size > 0 && (size_t)size < space && access(path, R_OK) == 0)
            return 0;
    }
    return -1;
}

int library_check(const char *path)
{
    char where[PATH_MAX];
    if (!world_writable(path, where))
        return 0;
    return error("'%s' is not loaded into a program, because everybody can write to '%s': chmod o-w %s", path, where,
                 shell_word(where));
}
