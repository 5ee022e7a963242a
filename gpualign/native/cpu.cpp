#include "cpu.hpp"

#include <nanobind/stl/string.h>

#include "bindings.hpp"

void gpualign::bind_cpu(nanobind::module_& m) {
    m.def("cpu_supports", &cpu_supports, nanobind::arg("level"), "Whether this processor can run a build level.");
}
