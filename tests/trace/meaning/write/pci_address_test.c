/* PCI addresses of GPUs, from a folder as NVIDIA's kernel module makes it. */
#include "trace/meaning/write/metadata.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit.h"

static void make_gpu(const char *folder, const char *address, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, address);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s/information", folder, address);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

UNIT_TEST(test_a_gpu_is_found_by_its_uuid)
{
    char folder[] = "/tmp/gputrace-pci.XXXXXX", address[PCI_ADDRESS_BYTES] = "";
    assert_non_null(mkdtemp(folder));
    make_gpu(folder, "0000:00:06.0", "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-1c1f8c20-a671\nBus Type: \t PCIe\n");
    make_gpu(folder, "0000:00:07.0", "Model: \t\t NVIDIA H100\nGPU UUID: \t GPU-0978dd54-200f\n");
    make_gpu(folder, "0000:00:08.0", "Model: \t\t NVIDIA H100\n");
    assert_true(pci_address_find(folder, "GPU-0978dd54-200f", address));
    assert_string_equal(address, "0000:00:07.0");
    assert_false(pci_address_find(folder, "GPU-0978dd54", address));
    assert_false(pci_address_find("/nonexistent", "GPU-0978dd54-200f", address));
}

UNIT_MAIN(NULL, NULL)
