# What `cmake --install` puts in place: headers, both libraries, the command, a CMake package, a .pc file.
# Nothing installed names the build tree, and the installed tree may be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ptxgen)
install(DIRECTORY include/ptxgen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS ptxgen_static ptxgen_shared EXPORT ptxgenTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ptxgen_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT ptxgenTargets NAMESPACE ptxgen:: DESTINATION ${package_dir})

# A static consumer links NVIDIA's compiler library as well, so it is installed beside ours.
set(PTXGEN_PC_PRIVATE "")
if(PTXGEN_NVPTXCOMPILER_LIBRARY)
    install(FILES ${PTXGEN_NVPTXCOMPILER_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR}/ptxgen)
    get_filename_component(name ${PTXGEN_NVPTXCOMPILER_LIBRARY} NAME)
    set(PTXGEN_PC_PRIVATE "\${libdir}/ptxgen/${name} ${PTXGEN_NVPTXCOMPILER_NEEDS} ")
endif()

configure_package_config_file(cmake/ptxgenConfig.cmake.in ${PROJECT_BINARY_DIR}/ptxgenConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ptxgenConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ptxgenConfig.cmake ${PROJECT_BINARY_DIR}/ptxgenConfigVersion.cmake
    DESTINATION ${package_dir})

# "lib/pkgconfig" -> "../..", "lib/x86_64-linux-gnu/pkgconfig" -> "../../.."
file(RELATIVE_PATH PTXGEN_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/ptxgen.pc.in ${PROJECT_BINARY_DIR}/ptxgen.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ptxgen.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
