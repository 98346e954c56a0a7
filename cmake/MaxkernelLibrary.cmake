# The few functions that every folder uses, so that flags, labels and install rules are the same everywhere.

# -Wmissing-field-initializers of g++ 12 fires on designated initialisers, whose point is to leave out what has a default. Its -Wrestrict
# fires on every inlined "literal" + string when it optimises (GCC bug 105651).
function(maxkernel_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers
                         $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict>)
endfunction()

# maxkernel_library(NAME core SOURCES a.cc b.cc LINK absl::status LINK_PRIVATE OpenSSL::Crypto)
# makes the target maxkernel_core with the alias maxkernel::core.
function(maxkernel_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LINK;LINK_PRIVATE")
  set(target maxkernel_${arg_NAME})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(maxkernel::${arg_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE})
  maxkernel_warnings(${target})
  install(TARGETS ${target} EXPORT maxkernelTargets)
endfunction()

# maxkernel_test(NAME core_test SOURCES a_test.cc LINK maxkernel::core LABELS unit slow TIMEOUT 60 ENVIRONMENT A=1 B=2)
# makes a Catch2 executable and registers it as one ctest entry, or with SPLIT as one per test case (then with a single label).
# Tests may include the private headers of the library they test, by their path from the root of the tree.
function(maxkernel_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SPLIT" "NAME;TIMEOUT" "SOURCES;LINK;LABELS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LINK} maxkernel_test_main)
  maxkernel_warnings(${arg_NAME})
  if(arg_SPLIT)
    include(Catch)
    set(properties LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
    if(arg_ENVIRONMENT)
      list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
    endif()
    catch_discover_tests(${arg_NAME} TEST_PREFIX "${arg_NAME}: " PROPERTIES ${properties})
    return()
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  if(arg_ENVIRONMENT)
    set_tests_properties(${arg_NAME} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
endfunction()
