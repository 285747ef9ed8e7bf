using System.Reflection.Metadata;

namespace Tunnel2.Architecture.Tests.Logging;

/// <summary>Names the types of an attribute's arguments, as its decoder wants them named; enums here have 32 bits.</summary>
internal sealed class AttributeTypes : ICustomAttributeTypeProvider<string>
{
    public static readonly AttributeTypes Instance = new();

    public string GetPrimitiveType(PrimitiveTypeCode typeCode) => $"System.{typeCode}";

    public string GetSystemType() => "System.Type";

    public string GetSZArrayType(string elementType) => elementType + "[]";

    public string GetTypeFromDefinition(MetadataReader reader, TypeDefinitionHandle handle, byte rawTypeKind) =>
        reader.GetString(reader.GetTypeDefinition(handle).Name);

    public string GetTypeFromReference(MetadataReader reader, TypeReferenceHandle handle, byte rawTypeKind) =>
        reader.GetString(reader.GetTypeReference(handle).Name);

    public string GetTypeFromSerializedName(string name) => name;

    public PrimitiveTypeCode GetUnderlyingEnumType(string type) => PrimitiveTypeCode.Int32;

    public bool IsSystemType(string type) => type == "System.Type";
}
