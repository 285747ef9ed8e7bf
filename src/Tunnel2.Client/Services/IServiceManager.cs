namespace Tunnel2.Client.Services;

/// <summary>A system's service manager: the texts that it needs. Pure, except that it may be asked for a state.</summary>
internal interface IServiceManager
{
    /// <summary>Its name.</summary>
    string Name { get; }

    /// <summary>Why a service cannot be installed with it, or null.</summary>
    string? MistakeOf(ServiceDefinition service);

    /// <summary>What it is given: the text that a dry run prints. No secret is in it.</summary>
    string Describe(ServiceDefinition service);

    /// <summary>What is done to install and start it, or to put it in the place of an older one of the same name.</summary>
    IReadOnlyList<ServiceStep> Install(ServiceDefinition service);

    /// <summary>What is done to stop and remove it.</summary>
    IReadOnlyList<ServiceStep> Uninstall(ServiceId id);

    /// <summary>The file by which an installed service is known; null: the manager is asked.</summary>
    string? FileOf(ServiceId id);

    /// <summary>The command whose output <see cref="Read"/> understands.</summary>
    IReadOnlyList<string> Query(ServiceId id);

    /// <summary>What that command has said; null: it has failed.</summary>
    ServiceState? Read(int exitCode, string output);

    /// <summary>Where its process answers for <c>tunnel2 status</c> (XDG_RUNTIME_DIR); null: where this user's agents do.</summary>
    string? RuntimeFolderOf(ServiceId id);

    /// <summary>The command that prints its log; null: the log is in <see cref="LogFileOf"/>.</summary>
    IReadOnlyList<string>? Logs(ServiceId id, int lines, bool follow);

    /// <summary>The file that has its log; null: the manager keeps it.</summary>
    string? LogFileOf(ServiceId id);

    /// <summary>What a person should know after the installation; empty: nothing.</summary>
    string Note(ServiceId id);
}
