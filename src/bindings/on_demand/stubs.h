#pragma once

// Functions of a library that is opened when one of them is first called. cmake/on_demand.cmake writes a source of these
// for each such library; only libtessera.so has them, whatever is linked statically names the library itself.

#include <dlfcn.h>

#include <atomic>
#include <cstddef>

#include "base/sanitizers.h"

namespace tessera::on_demand {

/// How such libraries are opened. What they call of their own is found there: plugins and programs bring other versions of
/// the same libraries, and may show all that they have to whoever is opened after them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kOpen = RTLD_NOW | RTLD_LOCAL;  // sanitizers take no other: their functions must come first
#else
inline constexpr int kOpen = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

struct Library {
  const char* file;          // as programs load it
  const char* const* names;  // of its functions
  std::atomic<void*> handle{nullptr};
};

/// The address of the library's function of this number. Throws Error where the library or the function is gone.
void* Bind(Library& library, size_t number);

}  // namespace tessera::on_demand

// A call jumps to where its slot says. While that is empty it goes by way of the library's own entry, which keeps the
// arguments, has the slot filled and jumps on; the table of frames lets an error out to the caller.
#define ON_DEMAND_ENTRY(library)                                                                                      \
  extern "C" {                                                                                                        \
  __attribute__((visibility("hidden"), used)) std::atomic<void*> on_demand_slots_##library[kCount];                   \
  __attribute__((visibility("hidden"), used)) void* on_demand_bind_##library(size_t number) {                         \
    void* const address = tessera::on_demand::Bind(the_library, number);                                              \
    on_demand_slots_##library[number].store(address, std::memory_order_release);                                      \
    return address;                                                                                                   \
  }                                                                                                                   \
  }                                                                                                                   \
  __asm__(".text\n.p2align 4\n.type on_demand_entry_" #library ", @function\non_demand_entry_" #library               \
          ":\n"                                                                                                       \
          "  .cfi_startproc\n"                                                                                        \
          "  pushq %rbp\n  .cfi_def_cfa_offset 16\n  .cfi_offset %rbp, -16\n"                                         \
          "  movq %rsp, %rbp\n  .cfi_def_cfa_register %rbp\n"                                                         \
          "  subq $192, %rsp\n  andq $-16, %rsp\n"                                                                    \
          "  movaps %xmm0, (%rsp)\n  movaps %xmm1, 16(%rsp)\n  movaps %xmm2, 32(%rsp)\n  movaps %xmm3, 48(%rsp)\n"    \
          "  movaps %xmm4, 64(%rsp)\n  movaps %xmm5, 80(%rsp)\n  movaps %xmm6, 96(%rsp)\n  movaps %xmm7, 112(%rsp)\n" \
          "  movq %rdi, 128(%rsp)\n  movq %rsi, 136(%rsp)\n  movq %rdx, 144(%rsp)\n  movq %rcx, 152(%rsp)\n"          \
          "  movq %r8, 160(%rsp)\n  movq %r9, 168(%rsp)\n  movq %rax, 176(%rsp)\n  movq %r10, 184(%rsp)\n"            \
          "  movq %r11, %rdi\n  call on_demand_bind_" #library                                                        \
          "\n  movq %rax, %r11\n"                                                                                     \
          "  movaps (%rsp), %xmm0\n  movaps 16(%rsp), %xmm1\n  movaps 32(%rsp), %xmm2\n  movaps 48(%rsp), %xmm3\n"    \
          "  movaps 64(%rsp), %xmm4\n  movaps 80(%rsp), %xmm5\n  movaps 96(%rsp), %xmm6\n  movaps 112(%rsp), %xmm7\n" \
          "  movq 128(%rsp), %rdi\n  movq 136(%rsp), %rsi\n  movq 144(%rsp), %rdx\n  movq 152(%rsp), %rcx\n"          \
          "  movq 160(%rsp), %r8\n  movq 168(%rsp), %r9\n  movq 176(%rsp), %rax\n  movq 184(%rsp), %r10\n"            \
          "  leave\n  .cfi_def_cfa %rsp, 8\n  jmp *%r11\n"                                                            \
          "  .cfi_endproc\n.size on_demand_entry_" #library ", . - on_demand_entry_" #library "\n")

#define ON_DEMAND_FUNCTION(library, number, name)                                                      \
  __asm__(".text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name \
          ":\n"                                                                                        \
          "  .cfi_startproc\n  endbr64\n"                                                              \
          "  movq on_demand_slots_" #library "+8*" #number                                             \
          "(%rip), %r11\n  testq %r11, %r11\n  je 1f\n"                                                \
          "  jmp *%r11\n1:\n  movl $" #number ", %r11d\n  jmp on_demand_entry_" #library               \
          "\n"                                                                                         \
          "  .cfi_endproc\n.size " #name ", . - " #name "\n")
