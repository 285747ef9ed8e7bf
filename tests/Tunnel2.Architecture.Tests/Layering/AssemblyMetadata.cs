using System.Collections.Immutable;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Layering;

/// <summary>What a compiled assembly refers to, read without loading it.</summary>
internal sealed class AssemblyMetadata
{
    private AssemblyMetadata(MetadataReader reader)
    {
        AssemblyReferences = [.. reader.AssemblyReferences.Select(handle => reader.GetString(reader.GetAssemblyReference(handle).Name))];
        ReferencedTypes = [.. reader.TypeReferences.Select(handle => Name(reader, handle)).Distinct().Order(StringComparer.Ordinal)];
    }

    public ImmutableArray<string> AssemblyReferences { get; }

    /// <summary>Full names of types from other assemblies.</summary>
    public ImmutableArray<string> ReferencedTypes { get; }

    public static AssemblyMetadata Of(ProjectFile project)
    {
        using var file = new PEReader(File.OpenRead(PathOf(project)));
        return new AssemblyMetadata(file.GetMetadataReader());
    }

    /// <summary>Where the project's assembly lies beside this one.</summary>
    public static string PathOf(ProjectFile project) => Path.Combine(AppContext.BaseDirectory, project.AssemblyName + ".dll");

    private static string Name(MetadataReader reader, TypeReferenceHandle handle)
    {
        var type = reader.GetTypeReference(handle);
        var prefix = type.ResolutionScope.Kind == HandleKind.TypeReference
            ? Name(reader, (TypeReferenceHandle)type.ResolutionScope)
            : reader.GetString(type.Namespace);
        return $"{prefix}.{reader.GetString(type.Name)}";
    }
}
