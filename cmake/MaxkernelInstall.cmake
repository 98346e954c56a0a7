# What an installed maxkernel consists of beside the libraries and programs, which the folders install where they are defined.
include(CMakePackageConfigHelpers)

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/maxkernel")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/maxkernelConfig.cmake.in" "${PROJECT_BINARY_DIR}/maxkernelConfig.cmake"
  INSTALL_DESTINATION "${config_folder}")
# 0.x: a minor version may break what linked with the one before.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/maxkernelConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/maxkernelConfig.cmake" "${PROJECT_BINARY_DIR}/maxkernelConfigVersion.cmake"
        DESTINATION "${config_folder}")
install(EXPORT maxkernelTargets NAMESPACE maxkernel:: DESTINATION "${config_folder}")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/maxkernel" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/share/" DESTINATION "${CMAKE_INSTALL_DATADIR}/maxkernel")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tasks" DESTINATION "${CMAKE_INSTALL_DATADIR}/maxkernel" PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/runner/maxkernel_runner" DESTINATION "${CMAKE_INSTALL_DATADIR}/maxkernel/runner"
        PATTERN "__pycache__" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/runner/requirements.txt" DESTINATION "${CMAKE_INSTALL_DATADIR}/maxkernel/runner")
