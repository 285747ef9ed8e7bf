using System.Globalization;
using System.Security.Cryptography;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry cluster init</c>: makes the authority of a cluster and the certificates of nodes, for the links between them. It prints
/// the files; keys are never shown.
/// </summary>
internal static class ClusterCommand
{
    private const int ExitFailed = 1;
    private const int LongestId = 12;
    private const int UsualDays = 730;
    private const int MostDays = 3650;
    private const int LongestShown = 100;
    private const string NodeOption = "--node";
    private const string OutOption = "--out";
    private const string DaysOption = "--days";
    private const string NewAuthorityOption = "--new-ca";

    /// <summary>A node's file is its id and <c>.pem</c>: with this one it would take the place of the authority's.</summary>
    private static readonly string _authority = Path.GetFileNameWithoutExtension(NodeLinkSettings.AuthoritiesFile);

    public static bool IsMeant(string[] args) => args is ["cluster", "init", ..];

    public static int Run(string[] args, TextWriter output, TextWriter error)
    {
        var nodes = new List<string>();
        var settings = new List<string>();
        string? folder = null;
        var days = UsualDays;
        var renewsAuthority = false;
        string? mistake = null;
        for (var i = 2; mistake is null && i < args.Length; i++)
        {
            if (args[i].StartsWith("--Tunnel2:", StringComparison.OrdinalIgnoreCase) && args[i].Contains('=', StringComparison.Ordinal))
            {
                settings.Add(args[i]);
                continue;
            }

            if (args[i] == NewAuthorityOption)
            {
                renewsAuthority = true;
                continue;
            }

            if (args[i] is not (NodeOption or OutOption or DaysOption))
            {
                mistake = EntryWords.Unknown(args[i], NodeOption, OutOption, DaysOption, NewAuthorityOption);
                break;
            }

            if (i + 1 == args.Length || args[i + 1].StartsWith("--", StringComparison.Ordinal))
            {
                mistake = $"{args[i]} needs a value";
                break;
            }

            var value = args[++i];
            switch (args[i - 1])
            {
                case NodeOption:
                    nodes.AddRange(value.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries));
                    break;
                case OutOption:
                    folder = value;
                    break;
                case DaysOption when !int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out days)
                    || days is < 1 or > MostDays:
                    mistake = $"{DaysOption}: '{PlainText.Clean(value, LongestShown)}' is not a number from 1 to {MostDays}";
                    break;
            }
        }

        if (mistake is null && nodes.Find(static id => !IsNode(id)) is { } wrong)
        {
            mistake = $"{NodeOption}: '{PlainText.Clean(wrong, LongestShown)}' is not an EntryId: 1 to {LongestId} of a-z, 0-9 and -";
        }

        if (mistake is not null)
        {
            error.WriteLine($"tunnel2-entry: {mistake}");
            error.WriteLine(EntryHelp.ClusterUsage);
            return SettingsErrorFormatter.ExitCode;
        }

        try
        {
            // Not checked as the server checks them: they may name the files that are made here.
            var section = SettingsSource.OfProcess([.. settings]).Read().GetSection(SettingKeys.Section);
            folder ??= Path.Combine(
                section["StateFolder"] is { Length: > 0 } state ? state : StateFolder.Default(), NodeLinkSettings.Folder);
            if (nodes.Count == 0 && !renewsAuthority)
            {
                nodes.Add(section["EntryId"] is { Length: > 0 } id ? id.ToLowerInvariant() : "e1");
            }

            if (nodes.Contains(_authority))
            {
                error.WriteLine(
                    $"tunnel2-entry: no node of a cluster can be '{_authority}': {NodeLinkSettings.AuthoritiesFile} is the file of the "
                        + "authority");
                return SettingsErrorFormatter.ExitCode;
            }

            Make(new ClusterAuthority(folder, DateTimeOffset.UtcNow), nodes, TimeSpan.FromDays(days), renewsAuthority, output);
            return 0;
        }
        catch (Exception exception)
            when (exception is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException
                or InvalidDataException)
        {
            error.WriteLine($"tunnel2-entry: {exception.Message}");
            return ExitFailed;
        }
    }

    private static void Make(ClusterAuthority authority, List<string> nodes, TimeSpan valid, bool renewsAuthority, TextWriter output)
    {
        var isNew = !authority.Exists;
        if (isNew || renewsAuthority)
        {
            authority.Create();
            output.WriteLine(
                isNew
                    ? $"{authority.CertificatePath}: a new authority. Every node needs this file"
                    : $"{authority.CertificatePath}: a new authority, beside the one before. Give this file to every node before the first "
                        + $"node gets a certificate of it");
        }

        // The one before stays: what the nodes have sealed can be opened with it alone.
        var secret = Path.Combine(Path.GetDirectoryName(authority.CertificatePath)!, ClusterSecretFile.Name);
        if (SharedSecret.TryMakeFile(secret))
        {
            output.WriteLine($"{secret}: a new secret, for certificates that nodes share. Every node needs this file");
        }

        foreach (var node in nodes.Distinct())
        {
            output.WriteLine($"{authority.Issue(node, valid)}: certificate and key of node {node}. Only that node needs this file");
        }
    }

    private static bool IsNode(string id) =>
        id.Length is > 0 and <= LongestId && id.All(static c => char.IsAsciiLetterLower(c) || char.IsAsciiDigit(c) || c == '-');
}
