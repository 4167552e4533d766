#pragma once

// Marks what libtessera.so exports; everything else is hidden.
#if defined(_WIN32)
#define TESSERA_API __declspec(dllexport)
#else
#define TESSERA_API __attribute__((visibility("default")))
#endif
