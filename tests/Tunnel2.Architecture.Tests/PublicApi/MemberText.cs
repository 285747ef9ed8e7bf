using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Tunnel2.Architecture.Tests.PublicApi;

/// <summary>Renders members for <see cref="PublicApiText"/>.</summary>
internal static class MemberText
{
    private static readonly NullabilityInfoContext _nullability = new();

    public static string Field(FieldInfo field)
    {
        var kind = field.IsLiteral ? "const " : $"{(field.IsStatic ? "static " : "")}{(field.IsInitOnly ? "readonly " : "")}";
        var value = field.IsLiteral ? $" = {Literal(field.GetRawConstantValue())}" : "";
        return $"{Access(field.IsPublic)} {kind}{TypeText.Name(field.FieldType, _nullability.Create(field))} {field.Name}{value}";
    }

    public static string Constructor(ConstructorInfo constructor) => $"{Access(constructor.IsPublic)} .ctor({Parameters(constructor)})";

    public static string Property(PropertyInfo property)
    {
        var required = property.IsDefined(typeof(RequiredMemberAttribute)) ? "required " : "";
        var index = property.GetIndexParameters();
        var name = index.Length == 0 ? property.Name : $"this[{string.Join(", ", index.Select(Parameter))}]";
        var accessors = new List<string>();
        AddAccessor(property.GetMethod, "get");
        AddAccessor(property.SetMethod, IsInit(property.SetMethod) ? "init" : "set");
        var first = property.GetAccessors(nonPublic: true)[0];
        var type = TypeText.Name(property.PropertyType, _nullability.Create(property));
        return $"public {Modifiers(first)}{required}{type} {name} {{ {string.Join(" ", accessors)} }}";

        void AddAccessor(MethodInfo? accessor, string word)
        {
            if (accessor is { IsPublic: true } or { IsFamily: true } or { IsFamilyOrAssembly: true })
            {
                accessors.Add($"{(accessor.IsPublic ? "" : "protected ")}{word};");
            }
        }
    }

    public static string Event(EventInfo declared) =>
        $"{Access(declared.AddMethod!.IsPublic)} {Modifiers(declared.AddMethod)}event {TypeText.Name(declared.EventHandlerType!)} "
            + $"{declared.Name}";

    public static string Method(MethodInfo method)
    {
        var arguments = method.GetGenericArguments();
        var generic = arguments.Length == 0 ? "" : $"<{string.Join(", ", arguments.Select(argument => argument.Name))}>";
        var result = TypeText.Name(method.ReturnType, _nullability.Create(method.ReturnParameter));
        return $"{Access(method.IsPublic)} {Modifiers(method)}{result} "
            + $"{method.Name}{generic}({Parameters(method)}){TypeText.Constraints(arguments)}";
    }

    private static string Access(bool isPublic) => isPublic ? "public" : "protected";

    private static string Modifiers(MethodInfo method) =>
        method.IsStatic ? method.IsAbstract ? "static abstract " : "static "
        : method.DeclaringType!.IsInterface ? ""
        : method.IsAbstract ? "abstract "
        : method.GetBaseDefinition() != method ? method.IsFinal ? "sealed override " : "override "
        : method.IsVirtual && !method.IsFinal ? "virtual " : "";

    private static bool IsInit(MethodInfo? setter) =>
        setter?.ReturnParameter.GetRequiredCustomModifiers().Contains(typeof(IsExternalInit)) ?? false;

    private static string Parameters(MethodBase method)
    {
        var extension = method.IsDefined(typeof(ExtensionAttribute), inherit: false) ? "this " : "";
        return extension + string.Join(", ", method.GetParameters().Select(Parameter));
    }

    private static string Parameter(ParameterInfo parameter)
    {
        var scoped = parameter.IsDefined(typeof(ScopedRefAttribute), inherit: false) && !parameter.IsOut ? "scoped " : "";
        var by = parameter.IsOut ? "out " : parameter.IsIn ? "in " : parameter.ParameterType.IsByRef ? "ref " : "";
        var many = parameter.IsDefined(typeof(ParamArrayAttribute), inherit: false) ? "params " : "";
        var value = parameter.HasDefaultValue ? $" = {Literal(parameter.RawDefaultValue)}" : "";
        return $"{scoped}{many}{by}{TypeText.Name(parameter.ParameterType, _nullability.Create(parameter))} {parameter.Name}{value}";
    }

    private static string Literal(object? value) => value switch
    {
        null => "default",
        string text => $"\"{text}\"",
        bool truth => truth ? "true" : "false",
        _ => string.Create(CultureInfo.InvariantCulture, $"{value}"),
    };
}
