/* PCI addresses of GPUs: reads the text files of NVIDIA's kernel module. */
#include "trace/meaning/write/pci_address.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* Whether the file says that the GPU has this UUID. */
static bool names_uuid(FILE *information, const char *uuid)
{
    char line[256], found[64];
    while (fgets(line, sizeof(line), information))
        if (sscanf(line, "GPU UUID: %63s", found) == 1)
            return strcmp(found, uuid) == 0;
    return false;
}

static bool is_gpu(const char *folder, const char *name, const char *uuid)
{
    char path[512];
    int length = snprintf(path, sizeof(path), "%s/%s/information", folder, name);
    FILE *information = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "re") : NULL;
    if (!information)
        return false;
    bool same = names_uuid(information, uuid);
    fclose(information);
    return same;
}

bool pci_address_find(const char *folder, const char *uuid, char address[PCI_ADDRESS_BYTES])
{
    const struct dirent *entry;
    bool found = false;
    DIR *gpus = opendir(folder);
    if (!gpus)
        return false;
    while (!found && (entry = readdir(gpus))) {
        size_t length = strlen(entry->d_name);
        found = entry->d_name[0] != '.' && length < PCI_ADDRESS_BYTES && is_gpu(folder, entry->d_name, uuid);
        if (found)
            memcpy(address, entry->d_name, length + 1);
    }
    closedir(gpus);
    return found;
}
