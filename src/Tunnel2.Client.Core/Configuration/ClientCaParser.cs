using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Reads the authorities of visitors' certificates.</summary>
internal static class ClientCaParser
{
    /// <summary>The flag.</summary>
    public const string Flag = "--client-ca";

    /// <summary>Reads a file of certificates into the options.</summary>
    /// <returns>What is wrong, in one line; null: nothing.</returns>
    public static string? Read(string path, ref AgentOptions options)
    {
        var certificates = new X509Certificate2Collection();
        try
        {
            certificates.ImportFromPem(TextFile.Read(path));
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            return $"{path} cannot be read: {FileFailure.Reason(path, exception)}";
        }

        ReadOnlyMemory<byte>[] authorities = [.. certificates.Select(static one => one.RawDataMemory)];
        if (authorities.Length is 0 or > AccessRules.MaxAuthorities)
        {
            return authorities.Length == 0
                ? $"{path} has no certificate (PEM)"
                : FormattableString.Invariant($"{path} has more than {AccessRules.MaxAuthorities} certificates");
        }

        if (authorities.Any(static one => one.Length > AccessRules.MaxAuthorityLength))
        {
            return FormattableString.Invariant($"{path} has a certificate of more than {AccessRules.MaxAuthorityLength} bytes");
        }

        options = options with { Access = (options.Access ?? new AccessRules()) with { ClientAuthorities = authorities } };
        return null;
    }

    /// <summary>Reports what only all settings together show.</summary>
    public static void Check(AgentOptions options, AccessRules rules, List<OptionMistake> mistakes)
    {
        if (options.Kind != SessionKind.Http && rules.ClientAuthorities.Count > 0)
        {
            mistakes.Add(new OptionMistake(Flag, "belongs to 'http'; a service of 'tls' asks for certificates itself"));
        }
    }
}
