using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;

namespace Tunnel2.Architecture.Tests.PublicApi;

/// <summary>
/// Renders what an assembly offers to others as text in a stable order: public and protected types and members, in C#'s words.
/// </summary>
internal static class PublicApiText
{
    private const BindingFlags Declared =
        BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;

    public static string Render(Assembly assembly)
    {
        var text = new StringBuilder();
        foreach (var type in assembly.GetExportedTypes().OrderBy(type => type.FullName, StringComparer.Ordinal))
        {
            text.Append(Declaration(type)).Append('\n');
            foreach (var member in Members(type).Order(StringComparer.Ordinal))
            {
                text.Append("    ").Append(member).Append('\n');
            }
        }

        return text.ToString();
    }

    private static string Declaration(Type type)
    {
        var bases = new List<string>();
        if (type is { IsClass: true, BaseType: not null } && type.BaseType != typeof(object) && !IsDelegate(type))
        {
            bases.Add(TypeText.Name(type.BaseType));
        }

        if (!type.IsEnum && !IsDelegate(type))
        {
            bases.AddRange(OwnInterfaces(type).Select(TypeText.Name).Order(StringComparer.Ordinal));
        }

        var underlying = type.IsEnum ? $" : {TypeText.Name(Enum.GetUnderlyingType(type))}" : "";
        var flags = type.GetCustomAttribute<FlagsAttribute>() is null ? "" : "[Flags] ";
        var suffix = bases.Count == 0 ? underlying : " : " + string.Join(", ", bases);
        return $"{flags}public {Kind(type)} "
            + $"{type.Namespace}.{TypeText.NestedName(type)}{suffix}{TypeText.Constraints(type.GetGenericArguments())}";
    }

    private static string Kind(Type type)
    {
        var record = type.GetMethod("PrintMembers", BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.DeclaredOnly) is null ? ""
            : "record ";
        if (type.IsEnum)
        {
            return "enum";
        }

        if (type.IsValueType)
        {
            var readOnly = type.IsDefined(typeof(IsReadOnlyAttribute), inherit: false) ? "readonly " : "";
            return $"{readOnly}{(type.IsByRefLike ? "ref " : "")}{record}struct";
        }

        return IsDelegate(type) ? "delegate"
            : type.IsInterface ? "interface"
            : type is { IsAbstract: true, IsSealed: true } ? "static class"
            : $"{(type.IsAbstract ? "abstract " : type.IsSealed ? "sealed " : "")}{record}class";
    }

    private static IEnumerable<Type> OwnInterfaces(Type type)
    {
        var all = type.GetInterfaces();
        var inherited = all.SelectMany(x => x.GetInterfaces()).Concat(type.BaseType?.GetInterfaces() ?? []);
        return all.Except(inherited).Where(x => x.IsVisible);
    }

    private static IEnumerable<string> Members(Type type)
    {
        if (IsDelegate(type))
        {
            return [MemberText.Method(type.GetMethod("Invoke")!)];
        }

        if (type.IsEnum)
        {
            return type.GetFields(BindingFlags.Public | BindingFlags.Static).Select(field =>
                string.Create(CultureInfo.InvariantCulture, $"{field.Name} = {field.GetRawConstantValue()}"));
        }

        return type.GetFields(Declared).Where(IsVisible).Select(MemberText.Field)
            .Concat(type.GetConstructors(Declared).Where(IsVisible).Select(MemberText.Constructor))
            .Concat(
                type.GetProperties(Declared)
                    .Where(property => property.GetAccessors(nonPublic: true).Any(IsVisible))
                    .Select(MemberText.Property))
            .Concat(type.GetEvents(Declared).Where(declared => IsVisible(declared.AddMethod!)).Select(MemberText.Event))
            .Concat(type.GetMethods(Declared).Where(IsOwnMethod).Select(MemberText.Method));
    }

    /// <summary>Not accessors, and not what the compiler writes for records and lambdas by itself.</summary>
    private static bool IsOwnMethod(MethodInfo method) => IsVisible(method)
        && (!method.IsSpecialName || method.Name.StartsWith("op_", StringComparison.Ordinal))
        && !method.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false);

    private static bool IsVisible(MethodBase method) => method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly;

    private static bool IsVisible(FieldInfo field) => field.IsPublic || field.IsFamily || field.IsFamilyOrAssembly;

    private static bool IsDelegate(Type type) => type.IsSubclassOf(typeof(Delegate));
}
