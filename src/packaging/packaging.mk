# Packages: `make wheel` and `make bundle` (for any Linux with glibc 2.28), `make deb`, `make dist`.

OBJCOPY ?= $(call tool,objcopy)
NM ?= $(call tool,nm)

# With PORTABLE=1 programs and libraries run with glibc 2.28, though a newer one is here: objects ask for old versions of
# its functions (glibc_symbols), or for stand-ins (glibc.c). Before 2.34 threads and dlopen() were in libraries of their
# own. Other libraries are linked in; Debian has cJSON as a shared library alone, which is put beside the others.
PORTABLE ?=
ifneq ($(PORTABLE),)
PORTABLE_GLIBC := 2.28
PORTABLE_STATIC := dw elf z lzma bz2 deflate lz4 sqlite3 iberty
PORTABLE_LIBS := $(PORTABLE_STATIC:%=$(B)/lib/lib%.a) -l:libcjson.so.1 -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../lib/gputrace'
portable_object = && $(OBJCOPY) --redefine-syms=$(B)/glibc.syms $@
LINK_FLAGS += -s -B$(B)/crt/ -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state

$(B)/glibc.syms: src/packaging/glibc_symbols src/packaging/glibc.c
	@mkdir -p $(@D)
	$(call say,GEN,$@)$(CC) -D_GNU_SOURCE -O2 -c -o $(B)/glibc.o src/packaging/glibc.c && \
	    src/packaging/glibc_symbols $(PORTABLE_GLIBC) $(NM) $(B)/glibc.o \
	    $$($(CC) -print-file-name=libc.so.6) $$($(CC) -print-file-name=libm.so.6) >$@

$(call objects,$(COMMON_SRC) $(AGENT_SRC) $(ALLOCATOR_SRC) $(MPI_SRC) $(TORCH_SRC) $(TOOL_SRC) $(wildcard samples/plugins/*.c)): $(B)/glibc.syms

$(B)/lib/%.a $(B)/crt/%.o: $(B)/glibc.syms
	@mkdir -p $(@D)
	$(call say,OBJCOPY,$@)$(OBJCOPY) --redefine-syms=$(B)/glibc.syms $$($(CC) -print-file-name=$(@F)) $@
$(B)/gputrace: | $(PORTABLE_STATIC:%=$(B)/lib/lib%.a) $(B)/crt/Scrt1.o
endif

MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
PACKAGES := build/packages
PORTABLE_BUILD := build/portable-$(MACHINE)
PORTABLE_ROOT := $(PORTABLE_BUILD)/installation
# Libraries of Debian that are in the binaries, by the packages that have their notices.
PORTABLE_NOTICES := libdw1 libelf1 zlib1g liblzma5 libbz2-1.0 libdeflate0 liblz4-1 libsqlite3-0 libiberty-dev libcjson1

# What a package is called: the version, and between releases the commit. A source archive has it in a file.
PACKAGE_VERSION = $(or $(file <.version),$(VERSION)$(shell \
    git describe --exact-match --match 'v$(VERSION)' >/dev/null 2>&1 || \
    { git rev-list --count HEAD && git rev-parse --short=9 HEAD; } 2>/dev/null | sed '1s/^/.dev/;2s/^/+g/' | tr -d '\n'))
BUNDLE = gputrace-$(PACKAGE_VERSION)-linux-$(MACHINE)

portable:
	+@$(SUBMAKE) -s B=$(PORTABLE_BUILD) PORTABLE=1 LIBDIR=/usr/local/lib/gputrace all
	@rm -rf $(PORTABLE_ROOT) && mkdir -p $(PORTABLE_ROOT) $(PACKAGES)
	+@$(SUBMAKE) -s B=$(PORTABLE_BUILD) PORTABLE=1 DESTDIR=$(PORTABLE_ROOT) PREFIX= LIBDIR=/lib/gputrace PKGCONFIGDIR=/lib/pkgconfig install
	@cp -L $$($(CC) -print-file-name=libcjson.so.1) $(PORTABLE_ROOT)/lib/gputrace/
	@mkdir -p $(PORTABLE_ROOT)/notices
	@for package in $(PORTABLE_NOTICES); do \
	    cp $(SYSROOT)/usr/share/doc/$$package/copyright $(PORTABLE_ROOT)/notices/$$package || exit 1; done

wheel: portable ## build/packages/gputrace-*.whl, which pip installs into any environment with glibc 2.28
	@rm -f $(PACKAGES)/*_$(MACHINE).whl
	@src/packaging/wheel $(PORTABLE_ROOT) '$(PACKAGE_VERSION)' manylinux_2_28_$(MACHINE) $(PACKAGES)

bundle: portable ## build/packages/gputrace-*.tar.xz, which runs from wherever it is unpacked
	@rm -rf $(PACKAGES)/*-linux-$(MACHINE).tar.xz $(PORTABLE_BUILD)/$(BUNDLE)
	@cp -a $(PORTABLE_ROOT) $(PORTABLE_BUILD)/$(BUNDLE) && cp -a README.md samples $(PORTABLE_BUILD)/$(BUNDLE)
	@tar -C $(PORTABLE_BUILD) --sort=name --owner=0 --group=0 --numeric-owner -cJf $(PACKAGES)/$(BUNDLE).tar.xz $(BUNDLE)
	@rm -rf $(PORTABLE_BUILD)/$(BUNDLE); echo $(PACKAGES)/$(BUNDLE).tar.xz

dist: ## build/packages/gputrace-*.tar.gz, the sources of the last commit, which build without git
	@mkdir -p $(PACKAGES) && git archive --prefix='gputrace-$(PACKAGE_VERSION)/' \
	    --add-virtual-file='gputrace-$(PACKAGE_VERSION)/.version:$(PACKAGE_VERSION)' \
	    -o '$(PACKAGES)/gputrace-$(PACKAGE_VERSION).tar.gz' HEAD && echo '$(PACKAGES)/gputrace-$(PACKAGE_VERSION).tar.gz'

# A version of Debian's sorts a commit between two releases where `~` is.
DEB_VERSION = $(subst .dev,~dev,$(PACKAGE_VERSION))
# Who builds the package answers for it.
MAINTAINER ?= $(shell git log -1 --format='%an <%ae>')
DEB_SOURCE = $(PACKAGES)/deb/gputrace-$(DEB_VERSION)
deb: dist ## build/packages/*.deb, for the Debian that runs here, with debhelper
	@rm -rf $(PACKAGES)/deb $(PACKAGES)/*.deb && mkdir -p $(DEB_SOURCE)
	@tar -C $(DEB_SOURCE) --strip-components=1 -xzf '$(PACKAGES)/gputrace-$(PACKAGE_VERSION).tar.gz'
	@cp -a src/packaging/debian $(DEB_SOURCE)/debian
	@sed -i 's/@MAINTAINER@/$(MAINTAINER)/' $(DEB_SOURCE)/debian/control
	@printf 'gputrace (%s) unstable; urgency=medium\n\n  * See the commits.\n\n -- %s  %s\n' \
	    '$(DEB_VERSION)' '$(MAINTAINER)' "$$(date -R)" >$(DEB_SOURCE)/debian/changelog
	@cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -b -uc -us -rfakeroot >../log 2>&1 || { tail -30 ../log >&2; exit 1; }
	@mv $(PACKAGES)/deb/*.deb $(PACKAGES)/ && ls $(PACKAGES)/*.deb

.PHONY: portable wheel bundle dist deb
